package engine

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/network"
)

func TestNetworkOfANewBox(t *testing.T) {
	w := newNetWorld(t)
	for _, c := range []struct {
		word string
		want forkbox.Net
		team string
		note string
	}{
		{"", forkbox.NetPolicy, "", ""},
		{"policy", forkbox.NetPolicy, "", ""},
		{"none", forkbox.NetNone, "", ""},
		{"host", forkbox.NetHost, "", network.SharesNote},
		{"team:blue-team", forkbox.NetPolicy, "blue-team", ""},
	} {
		b := w.make(CreateSpec{Net: c.word})
		for range 2 { // as long as it lives
			if b.Net != c.want || b.Network.Team != c.team || b.Note != c.note {
				t.Errorf("%q became %+v", c.word, b)
			}
			_, err := w.Start(t.Context(), ada, b.ID)
			check(t, err)
			_, err = w.Stop(t.Context(), ada, b.ID, nil)
			check(t, err)
			b = w.box(b.ID)
		}
	}
	b := w.make(CreateSpec{NetWish: forkbox.NetWish{Rules: []string{"allow a.example.com"}, Secrets: []string{"KEY"}}})
	net, network, err := w.Network(t.Context(), ada, b.ID)
	check(t, err)
	if net != forkbox.NetPolicy || network.CA == "" || network.Secrets["KEY"] == "" || network.Rules[0].Rule != "allow a.example.com" ||
		network.Asked == nil || network.Asked.Rules[0] != "allow a.example.com" {
		t.Errorf("got %s %+v", net, network)
	}
}

func TestNetworkRefuses(t *testing.T) {
	w := newNetWorld(t)
	for _, c := range []struct {
		spec CreateSpec
		code forkbox.Code
	}{
		{CreateSpec{Net: "team:Blue Team"}, forkbox.Invalid}, {CreateSpec{Net: "nnoe"}, forkbox.Invalid}, {CreateSpec{Net: "team:"}, forkbox.Invalid},
		{CreateSpec{Net: "-x"}, forkbox.Invalid},
		{CreateSpec{Net: "none", NetWish: forkbox.NetWish{Rules: []string{"allow a.example.com"}}}, forkbox.Invalid},
		{CreateSpec{Net: "host", NetWish: forkbox.NetWish{HostPorts: []int{5432}}}, forkbox.Invalid},
		{CreateSpec{NetWish: forkbox.NetWish{Rules: []string{"allow nonsense"}}}, forkbox.Invalid},
	} {
		_, err := w.Create(t.Context(), ada, c.spec)
		wantCode(t, err, c.code)
	}
	// More than was asked for is never taken.
	w.nets.with(func(n *nets) { n.wider = true })
	for _, word := range []string{"", "none", "policy", "team:blue"} {
		_, err := w.Create(t.Context(), ada, CreateSpec{Net: word})
		wantCode(t, err, forkbox.Internal)
	}
	if boxes, _ := w.Boxes(t.Context(), ada); len(boxes) != 0 {
		t.Errorf("there are %d boxes", len(boxes))
	}
}

// Promise 5: what was asked for and cannot be had is an error. Where the caller
// did not ask, less is given, and that is said.
func TestPromise5NetworkThatThisHostCannotGive(t *testing.T) {
	cannot := forkbox.Errorf(forkbox.Unsupported, "make a device", "there is no /dev/net/tun").Hint("load the module")
	for name, prevent := range map[string]func(*netWorld){
		"networks": func(w *netWorld) { w.nets.fail("resolve", cannot) },
		"provider": func(w *netWorld) { w.host.supports = map[forkbox.Net]error{forkbox.NetPolicy: cannot} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newNetWorld(t)
			prevent(w)
			for _, spec := range []CreateSpec{{Net: "policy"}, {Net: "team:blue"}, {NetWish: forkbox.NetWish{Preset: "open"}}} {
				_, err := w.Create(t.Context(), ada, spec)
				wantCode(t, err, forkbox.Unsupported)
			}
			b := w.make(CreateSpec{Name: "one", NetWish: forkbox.NetWish{Found: []forkbox.NetRule{{Rule: "allow r.example.com"}}}})
			w.exec("one")
			for _, b := range []forkbox.Box{b, w.box("one")} {
				if b.Net != forkbox.NetNone || !strings.Contains(b.Note, "no /dev/net/tun") {
					t.Errorf("got %+v", b)
				}
			}
			if w.nets.gate(b.ID) != nil {
				t.Error("it has a gate")
			}
		})
	}
}

func TestBandwidthNeedsAGate(t *testing.T) {
	w := newNetWorld(t)
	w.restart(&fuse{}, func(c *Config) {
		c.Networks, c.Policies = fakeNetworks{w.nets, w.host, &fuse{}}, &fakePolicies{}
	})
	limits := forkbox.Wish{Limits: forkbox.Limits{forkbox.Bandwidth: 1 << 20}}
	_, err := w.Create(t.Context(), ada, CreateSpec{Net: "host", Wish: limits})
	wantCode(t, err, forkbox.Unsupported)
	b := w.make(CreateSpec{Name: "one", Wish: limits})
	if rule := b.Policy[forkbox.Bandwidth]; rule.Value != 1<<20 || rule.How != forkbox.Enforced {
		t.Errorf("got %+v", rule)
	}
	w.exec("one")
	_, err = w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.Bandwidth: 2 << 20, forkbox.Connections: 7}})
	check(t, err)
	held := w.nets.gate(b.ID).holds().Policy.Limits()
	if held[forkbox.Bandwidth] != 2<<20 || held[forkbox.Connections] != 7 {
		t.Errorf("the gate holds %v", held)
	}
}
