package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// checkFirst looks at what the client of a connection says first. It says
// whether the rest is to be relayed; otherwise it has been dealt with.
func (c *relay) checkFirst() bool {
	look := peek
	if c.target().Host == "" {
		look = glance
	}
	said, err := look(c.box)
	for err == nil && said.open() {
		// So far it names no host, and may be sent on: a server does nothing
		// with a request or a handshake before its end, and the end is looked
		// at.
		if !c.sendHead() {
			return false
		}
		said, err = peekOn(c.box)
	}
	if err != nil {
		return true // it ended without a name: so does the relaying
	}
	switch {
	case !c.obey(said):
		return false
	case said.kind == tlsHello:
		return c.sendHandshake(said)
	}
	return c.sendRest()
}

// obey does what the rules say about a client's first words, and says whether
// all is to be relayed.
func (c *relay) obey(said first) bool {
	under := c.gate.policy.Load()
	v := c.judgeFirst(said)
	if !v.Allowed {
		c.turnAway(said, v)
		return false
	}
	c.setVerdict(v)
	if c.interceptIfAsked(said, v) {
		return false
	}
	c.setRelayed(said.kind)
	return c.gate.recheck(c.flow, under)
}

func (c *relay) sendRest() bool {
	sent := c.sendHead()
	c.box.head = nil
	return sent
}

// judgeFirst decides what is made of a client's first words.
func (c *relay) judgeFirst(said first) forkbox.NetVerdict {
	t := c.target()
	switch {
	case said.kind == plain:
		return c.verdict()
	case t.Host == "":
		return c.gate.judgeClaim(c.verdict(), said.name)
	case said.proxied && c.gate.cfg.Intercept != nil:
		return c.verdict() // the interceptor judges whom each request names
	case said.kind == odd && c.gate.rules().Terminates(t.Host, t.Port):
		return forkbox.NetVerdict{Target: t, Why: said.why}
	case said.kind == odd:
		return c.gate.unlessBare(t, said.why)
	case said.name == "":
		return c.gate.unlessBare(t, "the connection does not say for which host it is, and the address serves several")
	}
	return c.gate.judgeName(t, said.name)
}

// judgeClaim decides about a connection to an address that is allowed by
// itself, and says that it is for a name. Only rules that speak of that name
// forbid it: they hold however the name is reached.
func (j *judge) judgeClaim(byAddress forkbox.NetVerdict, name string) forkbox.NetVerdict {
	if name == "" {
		return byAddress
	}
	t := byAddress.Target
	t.Host = name
	if _, denied := j.rules().Denies(name); denied {
		if v := j.rules().Connect(t); !v.Allowed {
			return v
		}
	}
	if j.rules().NeedsRequests(name, t.Port) {
		return forkbox.NetVerdict{Target: t, Why: "only some requests may pass to " + quote(name) + ", and the box was not told this address for it"}
	}
	return byAddress
}

// judgeName decides about a connection to an address that says it is for a name.
func (j *judge) judgeName(t forkbox.NetTarget, name string) forkbox.NetVerdict {
	known := name == t.Host || j.pins.has(t.Addr, name)
	asNamed := forkbox.NetTarget{Proto: t.Proto, Host: name, Addr: t.Addr, Port: t.Port}
	v := j.rules().Connect(asNamed)
	_, denied := j.rules().Denies(name)
	if v.Allowed && known || denied && !v.Allowed {
		return v
	}
	why := "the connection says that it is for " + quote(name) + ", which the box was not told this address for"
	bare := j.unlessBare(asNamed, why)
	switch {
	case bare.Allowed:
		return j.judgeClaim(bare, name)
	case known:
		return v
	}
	return bare
}

// unlessBare refuses, unless the address is allowed by itself, for any name.
func (j *judge) unlessBare(t forkbox.NetTarget, why string) forkbox.NetVerdict {
	bare := t
	bare.Host = ""
	if v := j.rules().Connect(bare); v.Allowed {
		return v
	}
	return forkbox.NetVerdict{Target: t, Why: why}
}

// turnAway ends a connection whose first words are refused, with a page where
// the client can read one.
func (c *relay) turnAway(said first, v forkbox.NetVerdict) {
	c.setVerdict(v)
	if said.kind != httpRequest {
		c.cut() // at once: a box that does not read would have takeOver wait
		return
	}
	quiet := c.takeOver()
	reset(c.world)
	if quiet {
		writePage(c.box, v)
		return
	}
	c.box.abort()
}

// sendHead sends what was read ahead and has not been sent yet.
func (c *relay) sendHead() bool {
	head := c.box.head[c.sent:]
	c.sent = len(c.box.head)
	if err := c.gate.up.pace(c.ctx, head, c.writeWorld); err != nil {
		c.cut()
		return false
	}
	return true
}

// servePage tells a browser, or an agent, why it is refused, where it speaks
// HTTP without TLS.
func servePage(conn *boxConn, v forkbox.NetVerdict) {
	conn.SetDeadline(time.Now().Add(peekTime)) // also for the first byte
	said, err := conn.readHead(peekTime, classify)
	if err != nil || said.kind != httpRequest && said.kind != odd {
		conn.abort()
		return
	}
	writePage(conn, v)
}

// writePage answers a request with the reason and the remedy.
func writePage(conn *boxConn, v forkbox.NetVerdict) {
	conn.SetDeadline(time.Now().Add(peekTime))
	body := pageText(v)
	fmt.Fprintf(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s", len(body), body)
	conn.CloseWrite()
	conn.SetDeadline(time.Now().Add(glanceTime))
	discard(conn)
	conn.Close()
}

// discard reads what is left of the request: a connection that is closed with
// something unread is reset, and the page may be lost with it.
func discard(conn *boxConn) {
	conn.head = nil
	buf := make([]byte, 4<<10)
	for range 256 {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

func pageText(v forkbox.NetVerdict) string {
	t := v.Target
	target := t.Host
	if target == "" {
		target = t.Addr.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "forkbox: this box may not reach %s port %d\n", strings.Trim(quote(target), `"`), t.Port)
	fmt.Fprintf(&b, "why: %s\n", v.Why)
	if v.Rule.Rule != "" {
		fmt.Fprintf(&b, "rule: %s (%s)\n", v.Rule.Rule, v.Rule.From)
	}
	if v.Remedy != "" {
		fmt.Fprintf(&b, "remedy: %s\n", v.Remedy)
	}
	return b.String()
}
