package policy

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// A few values, so that they often meet: all of them are allowed for every
// resource.
var drawValue = rapid.SampledFrom([]int64{forkbox.Unlimited, 8 << 20, 9 << 20, 10 << 20, 11 << 20, 12 << 20})

func drawLimits(t *rapid.T, name string, of []forkbox.Resource) forkbox.Limits {
	return rapid.MapOfN(rapid.SampledFrom(of), drawValue, 0, len(of)).Draw(t, name)
}

func drawUser(t *rapid.T, name string) User {
	u := User{Limits: drawLimits(t, name, forkbox.Resources)}
	u.Memory, u.CPUs, u.Disk = max(0, drawValue.Draw(t, "memory")), max(0, drawValue.Draw(t, "cpus")), max(0, drawValue.Draw(t, "disk"))
	return u
}

func drawConfig(t *rapid.T) Config {
	c := Config{Limits: drawLimits(t, "host", forkbox.Resources), Defaults: drawLimits(t, "defaults", forkbox.Resources), Users: map[string]User{}}
	for _, key := range []string{"alice", "1000", "*", "bob"} {
		if rapid.Bool().Draw(t, "has "+key) {
			c.Users[key] = drawUser(t, key)
		}
	}
	return c
}

func drawHolds(t *rapid.T) map[forkbox.Resource]forkbox.Holding {
	how := rapid.SampledFrom([]forkbox.How{forkbox.Enforced, forkbox.Enforced, forkbox.Watched, forkbox.NotEnforced, ""})
	holds := goodHost()
	for _, r := range forkbox.Resources {
		if rapid.IntRange(0, 4).Draw(t, "poor "+string(r)) == 0 {
			holds[r] = forkbox.Holding{How: how.Draw(t, "how")}
		}
	}
	return holds
}

func perExec() (all []forkbox.Resource) {
	for _, r := range forkbox.Resources {
		if r.PerExec() {
			all = append(all, r)
		}
	}
	return all
}

func drawRequest(t *rapid.T, c Config) Request {
	r := Request{Owner: alice, Holds: drawHolds(t), Exec: rapid.Bool().Draw(t, "exec")}
	r.Wish = forkbox.Wish{Project: drawLimits(t, "project", forkbox.Resources), ProjectFile: "F", BestEffort: rapid.Bool().Draw(t, "best effort")}
	if !r.Exec {
		r.Wish.Limits = drawLimits(t, "flags", forkbox.Resources)
		return r
	}
	r.Wish.Limits = drawLimits(t, "flags", perExec())
	box := Request{Owner: alice, Holds: goodHost(), Wish: forkbox.Wish{Project: drawLimits(t, "box's", forkbox.Resources), BestEffort: true}}
	r.Box, _ = drawConfig(t).Resolve(box) // by another configuration: it may have changed since
	return r
}

// mosts are all that bound a resource of alice's, written down as the words of
// the documentation have it and not as the program does it.
func mosts(c Config, r Request, res forkbox.Resource) (all []int64) {
	sources := []forkbox.Limits{c.Limits}
	_, name := c.Users["alice"]
	_, uid := c.Users["1000"]
	for key, u := range c.Users {
		if key == "alice" || key == "1000" || key == "*" && !name && !uid {
			quota := forkbox.Limits{}
			for res, v := range map[forkbox.Resource]int64{memory: u.Memory, cpus: u.CPUs, disk: u.Disk} {
				if v > 0 {
					quota[res] = v
				}
			}
			sources = append(sources, u.Limits, quota)
		}
	}
	for _, l := range sources {
		if v, has := l[res]; has {
			all = append(all, v)
		}
	}
	inherits := perProcess(res)
	if rule, has := r.Box[res]; r.Exec && has && !(inherits && rule.From == "default") {
		all = append(all, rule.Value)
	}
	return all
}

// checkNeverWider: whatever is asked for, no rule allows more than any floor,
// every floor has a rule, and a wish is never narrowed without a word.
func checkNeverWider(t *rapid.T) {
	c := drawConfig(t)
	r := drawRequest(t, c)
	policy, err := c.Resolve(r)
	if err != nil {
		checkRefusal(t, c, r, err)
		return
	}
	for _, res := range forkbox.Resources {
		rule, has := policy[res]
		for _, most := range mosts(c, r, res) {
			inherits := !r.Exec || perProcess(res)
			if has && forkbox.Tighter(most, rule.Value) || !has && inherits && most != forkbox.Unlimited {
				t.Fatalf("%s: %+v, and %d is the most", res, rule, most)
			}
		}
		if v, asked := r.Wish.Limits[res]; asked && rule.Value != v {
			t.Fatalf("%s: asked for %d, got %+v", res, v, rule)
		}
		if has {
			checkProvenance(t, c, r, res, rule)
		}
	}
}

// checkRefusal: there is a reason for it.
func checkRefusal(t *rapid.T, c Config, r Request, err error) {
	for res, v := range r.Wish.Limits {
		for _, most := range mosts(c, r, res) {
			if forkbox.CodeOf(err) == forkbox.Denied && forkbox.Tighter(most, v) {
				return
			}
		}
	}
	for _, l := range []forkbox.Limits{r.Wish.Limits, r.Wish.Project} {
		for res := range l {
			if forkbox.CodeOf(err) == forkbox.Unsupported && !r.Wish.BestEffort && r.holding(res).How != forkbox.Enforced {
				return
			}
		}
	}
	t.Fatalf("%+v is refused: %v", r, err)
}

// checkProvenance: who is named did say that value, and how it is held is what
// the host says.
func checkProvenance(t *rapid.T, c Config, r Request, res forkbox.Resource, rule forkbox.Rule) {
	said := map[string][]forkbox.Limits{
		"host": {c.Limits}, "default": {c.Defaults}, "box": {r.Wish.Limits}, "project F": {r.Wish.Project},
	}
	for _, u := range c.Users {
		said["user"] = append(said["user"], u.Limits, forkbox.Limits{memory: u.Memory}, forkbox.Limits{cpus: u.CPUs}, forkbox.Limits{disk: u.Disk})
	}
	if r.Exec {
		said["exec"], said["box"], said["project F"] = []forkbox.Limits{r.Wish.Limits}, []forkbox.Limits{r.Box.Limits()}, nil
		from := r.Box[res].From
		said[from] = append(said[from], r.Box.Limits())
	}
	found := false
	for _, l := range said[rule.From] {
		v, has := l[res]
		found = found || has && v == rule.Value && v != 0
	}
	how := forkbox.Enforced
	if h, told := r.Holds[res]; told && rule.Value != forkbox.Unlimited {
		if how = h.How; how == "" {
			how = forkbox.NotEnforced
		}
	}
	if !found || rule.How != how || (rule.Why == "") != (how == forkbox.Enforced) {
		t.Fatalf("%s: %+v is not what was said", res, rule)
	}
}

// checkOrder: the same question has the same answer, whatever order maps are
// read in.
func checkOrder(t *rapid.T) {
	c := drawConfig(t)
	r := drawRequest(t, c)
	policy, err := c.Resolve(r)
	for range 5 {
		again, errAgain := c.Resolve(r)
		if !reflect.DeepEqual(policy, again) || !reflect.DeepEqual(words(err), words(errAgain)) {
			t.Fatalf("%v, %v and %v, %v", policy, err, again, errAgain)
		}
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestResolveProperties(t *testing.T) {
	t.Run("never wider", func(t *testing.T) { rapid.Check(t, checkNeverWider) })
	t.Run("order", func(t *testing.T) { rapid.Check(t, checkOrder) })
}
