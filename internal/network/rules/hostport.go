package rules

import (
	"slices"
	"strconv"

	"github.com/forkbox/forkbox"
)

// HostPort says whether the box may reach a port of the host's loopback. The
// floor can forbid that by naming forkbox.HostName.
func (p *Policy) HostPort(port int) bool {
	if !slices.Contains(p.hostPorts, port) {
		return false
	}
	return p.againstHostPort(port) == nil
}

// againstHostPort is the entry that denies a port of the host, by name: "deny *"
// does not mean what was asked for one by one.
func (p *Policy) againstHostPort(port int) *entry {
	for _, l := range []list{p.rules, p.floor} {
		named := slices.DeleteFunc(slices.Clone(l), func(e entry) bool { return e.Host == "*" })
		if e := named.first(ask{host: forkbox.HostName, proto: "tcp", port: port}); e != nil && !e.Allow {
			return e
		}
	}
	return nil
}

// hostName judges the host's name, which no resolver knows.
func (p *Policy) hostName(t forkbox.NetTarget) forkbox.NetVerdict {
	if len(p.hostPorts) > 0 {
		return hostPortNamed(t)
	}
	v := refused(t, "no --host-port names a port of the host")
	v.Remedy = hostPortRemedy(0)
	return v
}

// judgeHost is for services of the host, which are opened one by one.
func (p *Policy) judgeHost(t forkbox.NetTarget) forkbox.NetVerdict {
	e := p.againstHostPort(t.Port)
	switch {
	case t.Proto != "tcp":
		return refused(t, "only tcp ports of the host can be reached")
	case !slices.Contains(p.hostPorts, t.Port):
		v := refused(t, "no --host-port names this port of the host")
		v.Remedy = hostPortRemedy(t.Port)
		return v
	case e != nil:
		v := refused(t, "denied by "+e.words())
		v.Rule = e.wrote
		return v
	}
	return hostPortNamed(t)
}

func hostPortNamed(t forkbox.NetTarget) forkbox.NetVerdict {
	return forkbox.NetVerdict{Target: t, Allowed: true, Why: "it is a port of the host that --host-port names"}
}

func hostPortRemedy(port int) string {
	text := "PORT"
	if port > 0 {
		text = strconv.Itoa(port)
	}
	return "forkbox new --host-port " + text + ", and " + forkbox.HostName + " in the box"
}
