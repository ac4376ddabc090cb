package policy

import (
	"testing"

	"github.com/forkbox/forkbox"
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
	floor := Config{Limits: forkbox.Limits{}}
	for _, r := range forkbox.Resources {
		floor.Limits[r] = 8 << 20
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseProject("forkbox.yaml", []byte(text))
		if err != nil {
			return
		}
		policy, err := floor.Resolve(Request{Owner: alice, Wish: forkbox.Wish{Project: l}, Holds: goodHost()})
		if err != nil {
			t.Fatalf("%v was read and is refused: %v", l, err)
		}
		for r, rule := range policy {
			if forkbox.Tighter(8<<20, rule.Value) {
				t.Fatalf("%s: %+v", r, rule)
			}
		}
	})
}
