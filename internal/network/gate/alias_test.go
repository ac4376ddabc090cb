//go:build linux

package gate

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestDenyOfAnAliasHoldsAtOnce: for addresses that were given out before, and for
// what is open over them.
func TestDenyOfAnAliasHoldsAtOnce(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		f := open(t, "allow any:www.example\nallow any:plain.example")
		f.name("www.example", "60 CNAME mid.example.")
		f.name("mid.example", "60 CNAME cdn.evil.example.")
		f.name("cdn.evil.example", "60 A 203.0.113.1")
		f.name("plain.example", "60 A 203.0.113.2")
		for _, addr := range []string{"203.0.113.1:22", "203.0.113.2:22"} {
			f.tcp(addr, echo)
			f.udpEcho(addr)
		}
		f.resolve("www.example")
		f.resolve("plain.example")
		over, beside := f.talk(network, "203.0.113.1:22"), f.talk(network, "203.0.113.2:22")
		f.gate.SetPolicy(policy(t, "deny any:cdn.evil.example\nallow any:www.example\nallow any:plain.example"))
		c := f.wantRecord("its end", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Target.Host == "www.example" })
		if c.Rule.Rule != "deny any:cdn.evil.example" || !strings.Contains(c.Why, "alias of \"cdn.evil.example\"") || c.Target.Port != 22 {
			t.Errorf("%s: the record is %+v", network, c)
		}
		if err := over(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: what was open over the alias still is: %v", network, err)
		}
		if err := beside(); err != nil {
			t.Errorf("%s: what has nothing to do with it: %v", network, err)
		}
		f.wantAliasRefused(network)
		f.gate.SetPolicy(policy(t, "allow any:www.example"))
		if err := f.talk(network, "203.0.113.1:22")(); err != nil {
			t.Errorf("%s: the alias is not denied any more: %v", network, err)
		}
	}
}

// talk connects and returns what says a word and hears it.
func (f *fixture) talk(network, address string) func() error {
	f.t.Helper()
	conn, err := f.box.dial(network, address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	say := func() error {
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.WriteString(conn, "a word\n"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 7))
		return err
	}
	if err := say(); err != nil {
		f.t.Fatal(err)
	}
	return say
}

// wantAliasRefused tries the address that was given out before.
func (f *fixture) wantAliasRefused(network string) {
	f.t.Helper()
	called := len(f.calls())
	conn, err := f.box.dial(network, "203.0.113.1:22")
	if err == nil {
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(conn, "a word\n")
		_, err = conn.Read(make([]byte, 7))
		conn.Close()
	}
	if err == nil || len(f.calls()) != called {
		f.t.Errorf("%s: by the old address: %v, the gate called %v", network, err, f.calls()[called:])
	}
	f.wantRecord("the new attempt", func(c forkbox.Conn) bool {
		return c.State == forkbox.ConnRefused && c.Target.Host == "www.example" && c.Out == 0 && c.Rule.Rule == "deny any:cdn.evil.example"
	})
}

// TestFlowKnowsItsAlias, also when its name has been pushed out of the pins, or
// was asked for again with another answer.
func TestFlowKnowsItsAlias(t *testing.T) {
	for what, forget := range map[string]func(p *pins, addr netip.Addr){
		"pushed out": func(p *pins, addr netip.Addr) {
			for i := range pinNames {
				p.add(addr, fmt.Sprintf("n%d.other.example", i), time.Minute)
			}
		},
		"asked for again": func(p *pins, addr netip.Addr) { p.add(addr, "www.example", time.Minute) },
	} {
		f := open(t, "allow www.example\nallow *.other.example")
		f.name("www.example", "60 CNAME cdn.evil.example.")
		f.name("cdn.evil.example", "60 A 203.0.113.1")
		f.tcp("203.0.113.1:22", echo)
		f.resolve("www.example")
		over := f.talk("tcp", "203.0.113.1:22")
		forget(f.gate.pins, netip.MustParseAddr("203.0.113.1"))
		f.gate.SetPolicy(policy(t, "deny cdn.evil.example\nallow www.example\nallow *.other.example"))
		if err := over(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: it is still open: %v", what, err)
		}
		if err := f.talk("tcp", "203.0.113.1:22")(); err != nil {
			t.Errorf("%s: by what has no such alias: %v", what, err)
		}
	}
}

// TestAliasesOfPinsAreBounded: the names on the way can be long, and many.
func TestAliasesOfPinsAreBounded(t *testing.T) {
	p := newPins()
	addr := netip.MustParseAddr("203.0.113.1")
	var chain []string
	for range 16 {
		chain = append(chain, strings.Repeat("a", 253))
	}
	for i := range pinNames {
		p.add(addr, itoa(i), time.Minute, chain...)
	}
	held := 0
	for _, n := range p.at[addr].names {
		held += lengths(n.aliases)
	}
	if names := p.names(addr); held > pinAliases || len(names) == 0 || names[0] != itoa(pinNames-1) {
		t.Errorf("%d bytes of aliases are held for %v", held, names)
	}
}
