package rules

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/forkbox/forkbox"
)

// Options is what a policy is beside its rules.
type Options struct {
	// Box is what the box is called in remedies; BOX if empty.
	Box string
	// HostPorts are those of the host's loopback that may be reached as
	// forkbox.HostName.
	HostPorts []int
	// Own are the addresses of the host's interfaces. It is called for every
	// address that is judged, so its maker keeps the answer for a while.
	Own func() []netip.Addr
	// Terminate and Pinned are hosts, or globs, whose TLS ends at the gate and
	// never does.
	Terminate, Pinned []string
}

// Policy says what may be reached. It never changes and can be used by many at
// once.
type Policy struct {
	rules, floor      list
	floored           bool // there is a floor
	hostPorts         []int
	own               func() []netip.Addr
	terminate, pinned []string
	box               string
}

// New makes a policy of a box's rules and the host's floor. Without any rule in
// it there is no floor; with one, it has to allow what the rules allow.
func New(rules, floor []forkbox.NetRule, opts Options) (*Policy, error) {
	p := &Policy{box: cmp.Or(opts.Box, "BOX"), own: opts.Own, hostPorts: slices.Clone(opts.HostPorts), floored: len(floor) > 0}
	var err error
	if p.rules, err = newList(rules); err != nil {
		return nil, err
	}
	if p.floor, err = newList(floor); err != nil {
		return nil, err
	}
	if p.terminate, err = parseHosts(opts.Terminate); err != nil {
		return nil, err
	}
	if p.pinned, err = parseHosts(opts.Pinned); err != nil {
		return nil, err
	}
	return p, checkPorts(opts.HostPorts)
}

func parseHosts(texts []string) ([]string, error) {
	if len(texts) > MostRules {
		return nil, forkbox.Errorf(forkbox.Invalid, "use these hosts", "there are %d, and %d is the most", len(texts), MostRules)
	}
	var hosts []string
	for _, text := range texts {
		host, err := ParseHost(text)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func checkPorts(ports []int) error {
	if len(ports) > MostRules {
		return forkbox.Errorf(forkbox.Invalid, "use these ports", "there are %d, and %d is the most", len(ports), MostRules)
	}
	for _, port := range ports {
		if port < 1 || port > 1<<16-1 {
			return forkbox.Errorf(forkbox.Invalid, "reach port "+strconv.Itoa(port)+" of the host", "ports are from 1 to 65535")
		}
	}
	return nil
}

// Terminates says whether TLS to a host ends at the gate: some rule wants to
// see the requests, or the owner asked for it.
func (p *Policy) Terminates(host string, port int) bool {
	name, err := parseName(host)
	if err != nil || hasHost(p.pinned, name) {
		return false
	}
	return hasHost(p.terminate, name) || p.NeedsRequests(name, port)
}

// NeedsRequests says whether the rules let only some requests pass to a host.
// What is spoken there and is not HTTP has to be refused: the gate could not
// say whether it is one of them.
func (p *Policy) NeedsRequests(host string, port int) bool {
	name, err := parseName(host)
	if err != nil || hasHost(p.pinned, name) {
		return false
	}
	for _, c := range []class{public, private} {
		a := ask{host: name, proto: "tcp", port: port, place: place{class: c}}
		if p.rules.needsRequests(a) || p.floor.needsRequests(a) {
			return true
		}
	}
	return false
}

func hasHost(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, name) })
}

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
