package policy

import (
	"net/netip"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

// FuzzConfig: no text makes the reader fall over, and whatever it takes for a
// configuration has floors that hold.
func FuzzConfig(f *testing.F) {
	f.Add(whole)
	f.Add("limits: {memory: &a 8g}\ndefaults: {disk: *a}")
	f.Add("users: {alice: {limits: {pids: 0x10}}}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig("config.yaml", []byte(text))
		if err != nil {
			if forkbox.CodeOf(err) != forkbox.Invalid {
				t.Fatal(err)
			}
			return
		}
		for _, r := range forkbox.Resources {
			floorsHold(t, c, r)
		}
	})
}

// floorsHold asks for everything there is of a resource, in all ways.
func floorsHold(t *testing.T, c Config, r forkbox.Resource) {
	most, _ := c.Floor(alice, r)
	if most < forkbox.Unlimited || most != forkbox.Unlimited && (forkbox.Limits{r: most}).Check() != nil {
		t.Fatalf("the floor of %s is %d", r, most)
	}
	for _, v := range []int64{forkbox.Unlimited, 1 << 62} {
		for _, wish := range []forkbox.Wish{{}, {Limits: forkbox.Limits{r: v}}, {Project: forkbox.Limits{r: v}}} {
			policy, err := c.Resolve(Request{Owner: alice, Wish: wish, Holds: goodHost()})
			if rule, has := policy[r]; err == nil && most != forkbox.Unlimited && (!has || forkbox.Tighter(most, rule.Value)) {
				t.Fatalf("%s: %+v, and the most is %d", r, rule, most)
			}
		}
	}
}

// FuzzProject: the same for a project's file, which strangers write.
func FuzzProject(f *testing.F) {
	f.Add("limits: {memory: 2g, cpus: 1.5, ttl: 1d12h}\n")
	f.Add("limits:\n  memory: [")
	f.Add("network: {net: policy, preset: open, rules: [allow GET h.example/x, deny 10.0.0.0/8], host-ports: [1], secrets: [A], terminate: [h], pinned: ['*.h']}\n")
	floor := Config{Limits: forkbox.Limits{}}
	for _, r := range forkbox.Resources {
		floor.Limits[r] = 8 << 20
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parseProject("forkbox.yaml", []byte(text))
		if err != nil {
			return
		}
		networkHolds(t, read.Network)
		policy, err := floor.Resolve(Request{Owner: alice, Wish: forkbox.Wish{Project: read.Limits}, Holds: goodHost()})
		if err != nil {
			t.Fatalf("%v was read and is refused: %v", read.Limits, err)
		}
		for r, rule := range policy {
			if forkbox.Tighter(8<<20, rule.Value) {
				t.Fatalf("%s: %+v", r, rule)
			}
		}
	})
}

// networkHolds: what was read is never the host's network, can be used where
// the host's owner allows it, and opens nothing nearby where not.
func networkHolds(t *testing.T, n ProjectNetwork) {
	if n.Mode != "" && n.Mode != forkbox.NetNone && n.Mode != forkbox.NetPolicy {
		t.Fatalf("%+v", n)
	}
	if len(n.Wish.Rules) > 900 {
		return // with the preset's there may be too many
	}
	wish := forkbox.NetWish{Project: &n.Wish, ProjectFile: "forkbox.yaml"}
	if _, err := rules.Resolve(wish, rules.Host{Project: rules.Project{HostPorts: true, Secrets: true, Private: true}}); err != nil {
		t.Fatalf("%+v was read and is refused: %v", n, err)
	}
	got, err := rules.Resolve(wish, rules.Host{})
	if err != nil {
		return
	}
	p, err := rules.New(got.Rules, nil, rules.Options{HostPorts: got.HostPorts})
	if err != nil || len(got.HostPorts) > 0 || len(got.Secrets) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, addr := range []string{"10.1.2.3", "192.168.0.1", "169.254.169.254", "fd00::1", "127.0.0.1"} {
		if v := p.Connect(forkbox.NetTarget{Proto: "tcp", Host: "h.example", Addr: netip.MustParseAddr(addr), Port: 443}); v.Allowed {
			t.Fatalf("%+v", v)
		}
	}
}
