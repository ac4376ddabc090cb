package gate

import "github.com/forkbox/forkbox"

// checkFirst looks at what the client of a connection says first. It says
// whether the rest is to be relayed; otherwise it has been dealt with.
func (c *relay) checkFirst() bool {
	look := peek
	if c.target().Host == "" {
		look = glance
	}
	said, err := look(c.box)
	for err == nil && said.open() {
		// So far it names nobody, and the server can have it: a request or a
		// handshake does nothing before its end is there, and that is looked at.
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
	c.judged(v)
	if c.intercepted(said, v) {
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

// judgeClaim decides about a connection to an address that is allowed by itself,
// and says that it is for a name. That is nobody's business, except where rules
// speak of that name: they hold however it is reached.
func (g *Gate) judgeClaim(byAddress forkbox.NetVerdict, name string) forkbox.NetVerdict {
	if name == "" {
		return byAddress
	}
	t := byAddress.Target
	t.Host = name
	if _, denied := g.rules().Denies(name); denied {
		if v := g.rules().Connect(t); !v.Allowed {
			return v
		}
	}
	if g.rules().NeedsRequests(name, t.Port) {
		return forkbox.NetVerdict{Target: t, Why: "only some requests may pass to " + quote(name) + ", and the box was not told this address for it"}
	}
	return byAddress
}

// judgeName decides about a connection to an address that says it is for a name.
func (g *Gate) judgeName(t forkbox.NetTarget, name string) forkbox.NetVerdict {
	known := name == t.Host || g.pins.has(t.Addr, name)
	asNamed := forkbox.NetTarget{Proto: t.Proto, Host: name, Addr: t.Addr, Port: t.Port}
	v := g.rules().Connect(asNamed)
	_, denied := g.rules().Denies(name)
	if v.Allowed && known || denied && !v.Allowed {
		return v
	}
	why := "the connection says that it is for " + quote(name) + ", which the box was not told this address for"
	bare := g.unlessBare(asNamed, why)
	switch {
	case bare.Allowed:
		return g.judgeClaim(bare, name)
	case known:
		return v
	}
	return bare
}

// unlessBare refuses, unless the address is allowed by itself, whoever is meant.
func (g *Gate) unlessBare(t forkbox.NetTarget, why string) forkbox.NetVerdict {
	bare := t
	bare.Host = ""
	if v := g.rules().Connect(bare); v.Allowed {
		return v
	}
	return forkbox.NetVerdict{Target: t, Why: why}
}

// turnAway ends a connection whose first words are refused, with a page where
// the client can read one.
func (c *relay) turnAway(said first, v forkbox.NetVerdict) {
	c.judged(v)
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
