package main

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func conn(host, addr string, port int) forkbox.Conn {
	t := forkbox.NetTarget{Proto: "tcp", Host: host, Port: port}
	if addr != "" {
		t.Addr = netip.MustParseAddr(addr)
	}
	return forkbox.Conn{State: forkbox.ConnRefused, Time: time.Unix(0, 0), NetVerdict: forkbox.NetVerdict{Target: t, Why: "no rule allows it", Remedy: "forkbox net allow x"}}
}

func TestTargetText(t *testing.T) {
	for want, c := range map[string]forkbox.Conn{
		"tcp a.example:443 (192.0.2.7)":         conn("a.example", "192.0.2.7", 443),
		"tcp 192.0.2.7:25":                      conn("", "192.0.2.7", 25),
		"tcp [2001:db8::1]:25":                  conn("", "2001:db8::1", 25),
		"tcp a.example":                         conn("a.example", "", 0),
		"tcp ?":                                 conn("", "", 0),
		`tcp "a.example:443 (192.0.2.1)  -":80`: conn("a.example:443 (192.0.2.1)  -", "", 80),
		`tcp "a\x1b[2Jb":80`:                    conn("a\x1b[2Jb", "", 80),
		`tcp "a\nb":80 (192.0.2.7)`:             conn("a\nb", "192.0.2.7", 80),
		"tcp \"a\\xffb\":80":                    conn("a\xffb", "", 80),
		`tcp "a\u202eb":80`:                     conn("a\u202eb", "", 80),
	} {
		// A colon in a name gets it brackets, as for an address.
		if got := strings.NewReplacer(`["`, `"`, `"]`, `"`).Replace(targetText(c.Target)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestConnLineIsOneLine whatever a box calls its processes, and what it looks
// for: nothing of it breaks the line, moves the cursor or makes a column.
func TestConnLineIsOneLine(t *testing.T) {
	for _, odd := range []string{"a\nb", "a\tb", "a\rb", "\x1b]0;x\x07", "a\u202eb", "a\xff", "a  allowed", `a"b`, "\x9b31m"} {
		c := conn(odd, "192.0.2.7", 443)
		c.Exec, c.PID, c.Command, c.Target.Method, c.Target.Path = odd, 7, odd, odd, odd
		c.Target.Proto, c.Why, c.Rule = odd, odd, forkbox.NetRule{}
		for _, between := range []string{"\t", "  "} {
			line := connLine(c, between)
			if rest := strings.ReplaceAll(line, "\t", ""); printable(rest) != rest {
				t.Errorf("%q: %q", odd, line)
			}
			if strings.Count(line, "\t") > 6 {
				t.Errorf("%q makes columns: %q", odd, line)
			}
			if cut, _, _ := strings.Cut(line, odd); strings.Contains(odd, "  ") && !strings.HasSuffix(cut, `"`) {
				t.Errorf("%q passes for a column: %q", odd, line)
			}
		}
	}
}

func TestConnStates(t *testing.T) {
	for state, want := range map[forkbox.ConnState]string{
		forkbox.ConnOpen: "allowed, open", forkbox.ConnClosed: "allowed", forkbox.ConnRefused: "refused",
		forkbox.ConnFailed: "allowed, failed", forkbox.ConnLost: "allowed, lost", "new\n": `"new\n"`,
	} {
		if got := stateOfConn(forkbox.Conn{State: state, Times: 1}); got != want {
			t.Errorf("%s: %q", state, got)
		}
		if got := stateOfConn(forkbox.Conn{State: state, Times: 12}); got != want+" ×12" {
			t.Errorf("%s: %q", state, got)
		}
	}
}

func TestRefusedPlaces(t *testing.T) {
	denied := conn("denied.example", "", 443)
	denied.Rule = forkbox.NetRule{Rule: "deny denied.example", From: "box"}
	hopeless := conn("floor.example", "", 443)
	hopeless.Remedy = ""
	burst := conn("a.example", "198.19.0.2", 443)
	burst.Times = 5
	udp := conn("ntp.example", "", 123)
	udp.Target.Proto = "udp"
	odd := conn("a b; rm -rf /", "", 80)
	count, places, flags := refusedPlaces([]forkbox.Conn{
		burst, conn("a.example", "198.19.0.3", 443), denied, hopeless, udp, odd, conn("", "192.0.2.7", 25),
		conn("b.example", "", 443), conn("c.example", "", 443), conn("d.example", "", 443),
	})
	if count != 14 {
		t.Errorf("%d attempts", count)
	}
	want := []string{"a.example:443", "denied.example:443", "floor.example:443", "udp ntp.example:123", `"a b; rm -rf /":80`, "192.0.2.7:25",
		"b.example:443", "c.example:443", "d.example:443"}
	if !reflect.DeepEqual(places, want) {
		t.Errorf("%q", places)
	}
	if want := []string{"--allow a.example:443", "--allow udp:ntp.example:123", "--allow b.example:443"}; !reflect.DeepEqual(flags, want) {
		t.Errorf("%q", flags)
	}
}

func TestNetText(t *testing.T) {
	policy := forkbox.Box{Net: forkbox.NetPolicy, Network: forkbox.Network{Preset: "balanced"}}
	team := policy
	team.Network.Team = "crew"
	for want, box := range map[string]forkbox.Box{
		"none": {Net: forkbox.NetNone}, "host": {Net: forkbox.NetHost}, "policy (balanced)": policy,
		"policy (balanced, team crew)": team, "policy": {Net: forkbox.NetPolicy},
	} {
		if got := netText(box); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
