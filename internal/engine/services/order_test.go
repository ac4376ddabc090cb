package services

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

var (
	here = []forkbox.Service{
		{Name: "postgresql-5432", Recipe: "postgresql", PID: 10, Ports: []int{5432}, Data: []forkbox.ServiceData{{Path: "/d/a"}}},
		{Name: "postgresql-5433", Recipe: "postgresql", PID: 11, Ports: []int{5433}, Data: []forkbox.ServiceData{{Path: "/d/b"}}},
		{Name: "node", Recipe: generic, PID: 12, Ports: []int{3000}},
	}
	anyone = forkbox.Owner{UID: 7, Name: "ann"}
)

func names(list []forkbox.Service) string {
	var all []string
	for _, s := range list {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

// TestChoose: settings give names, define what does not run, and bring along what
// comes first.
func TestChoose(t *testing.T) {
	settings := map[string]forkbox.ServiceSettings{
		"store":  {Match: forkbox.ServiceMatch{Port: 5433}},
		"web":    {Match: forkbox.ServiceMatch{Port: 3000}, After: forkbox.Strings{"store"}},
		"worker": {Start: "work", Ready: "true", After: forkbox.Strings{"web", "5432"}},
		"gone":   {Match: forkbox.ServiceMatch{Port: 9}},
	}
	for with, want := range map[string]string{
		"store": "store", "5433": "store", "postgresql-5433": "store", "postgresql-5432": "postgresql-5432",
		"db": "postgresql-5432 store", "web": "web store", "worker": "worker web postgresql-5432 store",
		"all": "postgresql-5432 store web worker", "/d/b": "store",
	} {
		o := &order{with: []string{with}, settings: settings}
		got, err := o.choose("x", anyone, here)
		if err != nil || names(got) != want {
			t.Errorf("--with %s is %s, not %s: %v", with, names(got), want, err)
		}
	}
	o := &order{with: []string{"worker"}, settings: settings}
	got, err := o.choose("x", anyone, here)
	if err != nil || !slices.Equal(o.after["worker"], []string{"web", "postgresql-5432"}) || got[0].UID != 7 || got[0].PID != 0 {
		t.Errorf("%v, %+v, %v", o.after, got[0], err)
	}
}

// TestChooseRefuses what is not there, or not clear.
func TestChooseRefuses(t *testing.T) {
	port := func(n int) forkbox.ServiceMatch { return forkbox.ServiceMatch{Port: n} }
	for want, o := range map[string]*order{
		"no service \"x\" runs here":                  {with: []string{"x"}},
		"what settings say of \"gone\"":               {with: []string{"gone"}, settings: map[string]forkbox.ServiceSettings{"gone": {Match: port(9)}}},
		"db may be postgresql-5432 or":                {with: []string{"db"}, settings: map[string]forkbox.ServiceSettings{"db": {}}},
		"a and b are the same service":                {with: []string{"a"}, settings: map[string]forkbox.ServiceSettings{"a": {Match: port(5432)}, "b": {Match: port(5432)}}},
		"it is not said how its copy is known":        {with: []string{"w"}, settings: map[string]forkbox.ServiceSettings{"w": {Start: "work"}}},
		"a comes after it":                            {with: []string{"a"}, settings: map[string]forkbox.ServiceSettings{"a": {Match: port(5432), After: forkbox.Strings{"nothing"}}}},
		"they come after each other: a after b":       {with: []string{"a"}, settings: map[string]forkbox.ServiceSettings{"a": {Match: port(5432), After: forkbox.Strings{"5433"}}, "b": {Match: port(5433), After: forkbox.Strings{"a"}}}},
		"port 5432 would lead both to the copy of db": {with: []string{"db"}, letIn: []int{5432}, settings: map[string]forkbox.ServiceSettings{"db": {Match: port(5432)}}},
	} {
		_, err := o.choose("x", anyone, here)
		var e *forkbox.Error
		if !errors.As(err, &e) || !strings.Contains(e.Why+strings.Join(e.Hints, " "), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestIdentity: what is copied or settled otherwise is another still.
func TestIdentity(t *testing.T) {
	s := forkbox.Service{Name: "db", Ports: []int{1}}
	seen := map[string]forkbox.ServiceSettings{}
	for _, set := range []forkbox.ServiceSettings{
		{}, {Settle: "mask"}, {Settle: "mask", SettleOf: "1"}, {Settle: "mask", SettleOf: "2"}, {Copy: "delta"}, {Start: "x"}, {Start: "x", Dir: "/a"},
	} {
		id := (&order{settings: map[string]forkbox.ServiceSettings{"db": set}}).identity(s, []string{"/d"})
		if other, has := seen[id]; has {
			t.Errorf("%+v and %+v are one", set, other)
		}
		seen[id] = set
	}
	if a, b := (&order{}).identity(s, []string{"/d"}), (&order{}).identity(s, []string{"/e"}); a == b {
		t.Error("other data is the same")
	}
}

// TestWhoSays: what a caller says now counts more than settings, and these more
// than what is usual.
func TestWhoSays(t *testing.T) {
	s, long, short := forkbox.Service{Name: "db"}, time.Hour, time.Duration(0)
	set := map[string]forkbox.ServiceSettings{"db": {MaxPause: &short, MaxStale: &long}}
	for i, row := range []struct {
		got, want time.Duration
	}{
		{(&order{}).maxPause(s), maxPause}, {(&order{settings: set}).maxPause(s), 0}, {(&order{settings: set, pause: &long}).maxPause(s), long},
		{(&order{}).maxStale(s), maxStale}, {(&order{settings: set}).maxStale(s), long}, {(&order{settings: set, anew: true}).maxStale(s), 0},
		{(&order{settings: set, anew: true}).kept(s), long},
	} {
		if row.got != row.want {
			t.Errorf("row %d: %s, not %s", i, row.got, row.want)
		}
	}
}
