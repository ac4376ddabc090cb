package gate

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

// judge decides what a box may know and reach: by the policy that holds now, by
// the names that it gave addresses out for, and by the addresses that stand in
// for what may not be reached.
type judge struct {
	cfg    *Config
	ctx    context.Context // ends with the gate
	log    *log
	policy atomic.Pointer[Policy]
	pins   *pins
	stands *standIns
	asking places // for names, outside
}

func newJudge(ctx context.Context, cfg *Config, l *log) *judge {
	j := &judge{
		cfg:    cfg,
		ctx:    ctx,
		log:    l,
		pins:   newPins(),
		stands: newStandIns(),
		asking: make(places, upstreamShare),
	}
	j.policy.Store(&cfg.Policy)
	j.pins.policy = &j.policy
	return j
}

// way is how an attempt goes on: what is made of it and, where it is allowed,
// how the other end is reached.
type way struct {
	verdict forkbox.NetVerdict
	under   *Policy // that it was decided under
	dial    func(ctx context.Context) (net.Conn, error)
	// sniff says that what the client says first has to be looked at.
	sniff bool
	// page says that it is refused, but that a browser gets to read why.
	page bool
}

// decide says what is made of a new connection or session.
func (j *judge) decide(proto string, to netip.AddrPort) way {
	under := j.policy.Load() // before it is asked: it may change meanwhile
	w := j.wayTo(proto, to)
	w.under = under
	return w
}

func (j *judge) wayTo(proto string, to netip.AddrPort) way {
	switch stand, found := j.stands.find(to.Addr()); {
	case isGateway(to.Addr()):
		return j.hostWay(proto, to)
	case found && stand.mate:
		return j.mateWay(proto, stand, to)
	case found:
		return j.refusedWay(proto, stand, to)
	case isOwn(to.Addr()):
		t := forkbox.NetTarget{Proto: proto, Addr: to.Addr(), Port: int(to.Port())}
		return way{verdict: forkbox.NetVerdict{Target: t, Why: "the address belongs to the box's gate"}}
	}
	return way{verdict: j.judgeAddress(proto, to), sniff: true, dial: j.dialer(proto, to)}
}

// judgeAddress asks the policy about an address as each of the names that it was given
// out for, the latest first, and then by itself.
func (j *judge) judgeAddress(proto string, to netip.AddrPort) forkbox.NetVerdict {
	policy := j.rules()
	target := forkbox.NetTarget{Proto: proto, Addr: to.Addr(), Port: int(to.Port())}
	var refused *forkbox.NetVerdict
	for _, name := range j.pins.names(to.Addr()) {
		target.Host = name
		verdict := policy.Connect(target)
		if verdict.Allowed {
			return verdict
		}
		if refused == nil {
			refused = &verdict
		}
	}
	target.Host = ""
	bare := policy.Connect(target)
	switch {
	case bare.Allowed:
		return bare
	case refused != nil:
		return *refused
	}
	return j.explainAlias(bare)
}

func (j *judge) dialer(proto string, to netip.AddrPort) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return j.cfg.Dial(ctx, proto, to.String()) }
}

// hostWay leads to a service on the host's loopback.
func (j *judge) hostWay(proto string, to netip.AddrPort) way {
	port := int(to.Port())
	v := forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: proto, Host: forkbox.HostName, Addr: to.Addr(), Port: port}}
	if proto != "tcp" || !j.rules().HostPort(port) {
		v.Why = fmt.Sprintf("port %d of the host is not one that the box may reach", port)
		v.Remedy = fmt.Sprintf("make the box with --host-port %d", port)
		return way{verdict: v}
	}
	v.Allowed, v.Why = true, "the box may reach this port of the host"
	v.Rule = forkbox.NetRule{Rule: fmt.Sprintf("host-port %d", port), From: "box"}
	return way{verdict: v, dial: func(ctx context.Context) (net.Conn, error) { return j.cfg.Host(ctx, port) }}
}

// mateWay leads to a teammate, while it is there.
func (j *judge) mateWay(proto string, stand standIn, to netip.AddrPort) way {
	v := forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: proto, Host: stand.name, Addr: to.Addr(), Port: int(to.Port())}}
	peer, found := j.peer(stand.name)
	if !found {
		v.Why = "there is no such box in its team now"
		return way{verdict: v}
	}
	v.Allowed, v.Why = true, "it is a box of the same team"
	v.Rule = forkbox.NetRule{Rule: "team " + j.cfg.Box.Network.Team, From: "box"}
	return way{verdict: v, dial: func(ctx context.Context) (net.Conn, error) {
		return peer.DialPeer(ctx, j.cfg.Box.Name, proto, int(to.Port()))
	}}
}

func (j *judge) peer(name string) (Peer, bool) {
	if j.cfg.Peers == nil || name == "" || name == j.cfg.Box.Name {
		return nil, false
	}
	return j.cfg.Peers(name)
}

// refusedWay is that of a name that was refused when it was asked for. If the
// policy has changed meanwhile, the name is asked for after all: programs keep
// addresses.
func (j *judge) refusedWay(proto string, stand standIn, to netip.AddrPort) way {
	target := forkbox.NetTarget{Proto: proto, Host: stand.name, Addr: stand.real, Port: int(to.Port())}
	page := proto == "tcp" && to.Port() == 80
	if stand.refused != nil {
		v := *stand.refused
		v.Target = target
		return way{verdict: v, page: page}
	}
	v := j.rules().Connect(target)
	switch {
	case !v.Allowed:
		return way{verdict: v, page: page}
	case stand.real.IsValid():
		return way{verdict: v, sniff: true, dial: j.dialer(proto, netip.AddrPortFrom(stand.real, to.Port()))}
	case proto != "tcp":
		v.Allowed, v.Why = false, "it was not allowed when its name was asked for"
		return way{verdict: v}
	}
	return j.lateWay(v)
}

// lateWay asks for a name that has come to be allowed.
func (j *judge) lateWay(v forkbox.NetVerdict) way {
	ctx, cancel := context.WithTimeout(j.ctx, answerTime)
	defer cancel()
	reply := j.findAddresses(ctx, v.Target.Host, dns.TypeA)
	if len(reply.addrs) == 0 {
		return way{verdict: v, dial: func(context.Context) (net.Conn, error) {
			return nil, forkbox.Errorf(forkbox.NotFound, "resolve "+v.Target.Host, "it has no address that the box may reach")
		}}
	}
	v.Target.Addr = reply.addrs[0]
	v = j.rules().Connect(v.Target)
	to := netip.AddrPortFrom(v.Target.Addr, uint16(v.Target.Port))
	return way{verdict: v, sniff: true, dial: j.dialer("tcp", to)}
}

// rules is the policy that holds now.
func (j *judge) rules() Policy { return *j.policy.Load() }

// judgeAgain decides by the present policy about a flow that is open.
func (j *judge) judgeAgain(f *flow) (forkbox.NetVerdict, bool) {
	t := f.target()
	switch {
	case isGateway(t.Addr) && j.rules().HostPort(t.Port):
		return forkbox.NetVerdict{}, true
	case isGateway(t.Addr):
		return forkbox.NetVerdict{Target: t, Why: "the box may not reach this port of the host any more"}, false
	case isOwn(t.Addr): // a teammate: no rule decides that
		return forkbox.NetVerdict{}, true
	}
	v := j.rules().Connect(t)
	if denied := aliasDenied(j.rules(), f.aliases()); v.Allowed && denied != nil {
		denied.Target = t
		return *denied, false
	}
	if v.Allowed && j.mustSee(f.relayed(), t) {
		return forkbox.NetVerdict{Target: t, Rule: v.Rule, Why: "only some requests may pass to this host from now on, and the gate cannot see those of this connection"}, false
	}
	return v, v.Allowed
}

// mustSee says whether what is spoken to a host has to be looked into. What was
// relayed before that cannot be.
func (j *judge) mustSee(relayed kind, t forkbox.NetTarget) bool {
	if relayed == undecided || t.Host == "" {
		return false
	}
	rules := j.rules()
	return rules.NeedsRequests(t.Host, t.Port) || relayed == tlsHello && rules.Terminates(t.Host, t.Port)
}
