package retention

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// idle is a box of 1 GiB that was made a hundred days ago and last used that
// long ago.
func idle(o Outcome, ago time.Duration) Facts {
	box := forkbox.Box{ID: "id", Name: "try", State: forkbox.Stopped, Created: now.Add(-100 * day)}
	return Facts{Box: box, LastUsed: now.Add(-ago), Outcome: o, Bytes: 1 << 30}
}

// verdict is what happens to the one box there is: "goes: why", "stays: why",
// or nothing where no criterion speaks against it.
func verdict(t *testing.T, f Facts, spec forkbox.GCSpec, p Policy, total int64) string {
	t.Helper()
	remove, keep := Decide(now, []Facts{f}, spec, p, total)
	for _, c := range slices.Concat(remove, keep) {
		if c.Kind != "box" || c.ID != f.Box.ID || c.Name != f.Box.Name || c.Bytes != f.Bytes {
			t.Errorf("%+v is told as %+v", f, c)
		}
	}
	switch {
	case len(remove) == 1 && len(keep) == 0:
		return "goes: " + remove[0].Why
	case len(remove) == 0 && len(keep) == 1:
		return "stays: " + keep[0].Why
	case len(remove)+len(keep) > 1:
		t.Errorf("%+v is told twice: %v, %v", f, remove, keep)
	}
	return ""
}

func TestPolicyAges(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		ago     time.Duration
		want    string
	}{
		{Applied, day, ""},
		{Applied, day + time.Second, "goes: not used for 24 hours; applied boxes stay 24 hours"},
		{Applied, 3 * day, "goes: not used for 3 days; applied boxes stay 24 hours"},
		{Discarded, day, ""},
		{Lost, day, ""},
		{Lost, 2 * day, "goes: not used for 2 days; lost boxes stay 24 hours"},
		{Discarded, 2 * day, "goes: not used for 2 days; discarded boxes stay 24 hours"},
		{Failed, 7 * day, ""},
		{Failed, 7*day + time.Hour, "goes: not used for 7 days 1 hour; failed boxes stay 7 days"},
		{Untouched, 7 * day, ""},
		{Untouched, 8 * day, "goes: not used for 8 days; untouched boxes stay 7 days"},
		{Unreviewed, 99 * day, ""},
		{"", 99 * day, ""},
		{Applied, -day, ""}, // the clock was set back
	} {
		for _, unreviewed := range []bool{false, true} {
			spec := forkbox.GCSpec{Unreviewed: unreviewed}
			if got := verdict(t, idle(c.outcome, c.ago), spec, Default(), 1<<40); got != c.want {
				t.Errorf("%s, %v ago: %q, want %q", c.outcome, c.ago, got, c.want)
			}
		}
	}
}

// TestUnreviewedAge: a policy can have an age for them, and it takes a request
// all the same.
func TestUnreviewedAge(t *testing.T) {
	p := Policy{Unreviewed: 30 * day}
	for spec, want := range map[forkbox.GCSpec]string{
		{}:                 "stays: it has changes that were neither applied nor discarded; --unreviewed removes it too",
		{Unreviewed: true}: "goes: not used for 31 days; unreviewed boxes stay 30 days",
	} {
		if got := verdict(t, idle(Unreviewed, 31*day), spec, p, 0); got != want {
			t.Errorf("%+v: %q, want %q", spec, got, want)
		}
	}
}

func TestRequests(t *testing.T) {
	const idleWhy = "not used for 3 days; asked to remove what is idle for 2 days"
	const oldWhy = "made 100 days ago; asked to remove what is older than 99 days"
	const sizeWhy = "5 GiB are in use and the limit is 4 GiB; of what may go it was used longest ago"
	for _, c := range []struct {
		spec forkbox.GCSpec
		want string
	}{
		{forkbox.GCSpec{IdleFor: 2 * day}, "goes: " + idleWhy},
		{forkbox.GCSpec{IdleFor: 3 * day}, ""}, // and the policy has no say
		{forkbox.GCSpec{OlderThan: 99 * day}, "goes: " + oldWhy},
		{forkbox.GCSpec{OlderThan: 100 * day}, ""},
		{forkbox.GCSpec{MaxSize: 5 << 30}, ""},
		{forkbox.GCSpec{MaxSize: 4 << 30}, "goes: " + sizeWhy},
		{forkbox.GCSpec{IdleFor: 3 * day, OlderThan: 99 * day, MaxSize: 5 << 30}, "goes: " + oldWhy},
		{forkbox.GCSpec{IdleFor: 3 * day, OlderThan: 100 * day, MaxSize: 4 << 30}, "goes: " + sizeWhy},
		{forkbox.GCSpec{IdleFor: 2 * day, OlderThan: 99 * day, MaxSize: 4 << 30}, "goes: " + idleWhy + "; " + oldWhy},
		{forkbox.GCSpec{DryRun: true, IdleFor: 2 * day}, "goes: " + idleWhy},
	} {
		if got := verdict(t, idle(Applied, 3*day), c.spec, Default(), 5<<30); got != c.want {
			t.Errorf("%+v: %q, want %q", c.spec, got, c.want)
		}
	}
}

// TestPolicySizeIsForThePolicyOnly: a request for an age is not one for a size.
func TestPolicySizeIsForThePolicyOnly(t *testing.T) {
	p := Policy{MaxSize: 1}
	if got := verdict(t, idle(Failed, day), forkbox.GCSpec{}, p, 2); !strings.HasPrefix(got, "goes: 2 bytes are in use and the limit is 1 byte;") {
		t.Errorf("by the policy: %q", got)
	}
	if got := verdict(t, idle(Failed, day), forkbox.GCSpec{IdleFor: 2 * day}, p, 2); got != "" {
		t.Errorf("by request: %q", got)
	}
}

func TestMakingABoxIsAUse(t *testing.T) {
	f := idle(Untouched, 0)
	f.LastUsed = time.Time{}
	if got := verdict(t, f, forkbox.GCSpec{IdleFor: 101 * day}, Default(), 0); got != "" {
		t.Errorf("a box that was never used: %q", got)
	}
	if got := verdict(t, f, forkbox.GCSpec{IdleFor: 99 * day}, Default(), 0); !strings.HasPrefix(got, "goes: not used for 100 days;") {
		t.Errorf("a box that was never used: %q", got)
	}
}

func TestSnapshotsAreNamed(t *testing.T) {
	for n, want := range map[int]string{0: "24 hours", 1: "24 hours; its snapshot goes with it", 3: "24 hours; its 3 snapshots go with it"} {
		f := idle(Applied, 3*day)
		f.Snapshots = n
		if got := verdict(t, f, forkbox.GCSpec{}, Default(), 0); !strings.HasSuffix(got, "stay "+want) {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestSize: the least recently used go first, past those that stay, and no
// more than needed.
func TestSize(t *testing.T) {
	facts := sized(map[string]time.Duration{"new": day, "old": 9 * day, "kept": 8 * day, "empty": 7 * day, "mid": 5 * day, "late": 2 * day})
	for max, want := range map[int64]string{
		6 << 30:   "goes: stays:",
		5<<30 + 1: "goes: old stays:",
		5 << 30:   "goes: old stays:",
		4 << 30:   "goes: old mid stays: kept empty",
		1:         "goes: old mid late new stays: kept empty",
	} {
		remove, keep := Decide(now, facts, forkbox.GCSpec{MaxSize: max}, Default(), 6<<30)
		if got := "goes:" + names(remove) + " stays:" + names(keep); got != want {
			t.Errorf("%d: %s, want %s", max, got, want)
		}
	}
}

// TestSizeCountsWhatGoesByAge, so that nothing goes for bytes that are freed
// anyway.
func TestSizeCountsWhatGoesByAge(t *testing.T) {
	facts := sized(map[string]time.Duration{"old": 9 * day, "mid": 5 * day, "new": day})
	facts[slices.IndexFunc(facts, func(f Facts) bool { return f.Box.Name == "new" })].Box.Created = now.Add(-200 * day)
	spec := forkbox.GCSpec{OlderThan: 150 * day, MaxSize: 2 << 30}
	if remove, _ := Decide(now, facts, spec, Default(), 3<<30); names(remove) != " new" {
		t.Errorf("%v", remove)
	}
	spec.MaxSize = 1 << 30
	if remove, _ := Decide(now, facts, spec, Default(), 3<<30); names(remove) != " old new" {
		t.Errorf("%v", remove)
	}
}

// TestNonsenseBytes: facts that do not add up free nothing and overflow
// nothing.
func TestNonsenseBytes(t *testing.T) {
	huge := sized(map[string]time.Duration{"a": 9 * day, "b": 8 * day, "c": 7 * day})
	for i := range huge {
		huge[i].Bytes = 1<<63 - 1
	}
	if remove, _ := Decide(now, huge, forkbox.GCSpec{IdleFor: 7*day + 1, MaxSize: 1}, Default(), 5); names(remove) != " a b" {
		t.Errorf("huge: %v", remove)
	}
	f := idle(Applied, 3*day)
	f.Bytes = -1 << 63
	if got := verdict(t, f, forkbox.GCSpec{MaxSize: 1}, Default(), 5); got != "stays: removing it alone frees nothing" {
		t.Errorf("below zero: %q", got)
	}
	below := sized(map[string]time.Duration{"a": 9 * day, "b": day})
	below[0].Bytes, below[1].Bytes = -9, -9
	if remove, keep := Decide(now, below, forkbox.GCSpec{IdleFor: 2 * day, MaxSize: 5}, Default(), 5); names(remove) != " a" || len(keep) > 0 {
		t.Errorf("bytes below zero add to what is in use: %v, %v", remove, keep)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	remove, keep := Decide(now, nil, forkbox.GCSpec{}, Default(), 0)
	if text, err := json.Marshal(forkbox.GC{Removed: remove, Kept: keep}); err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
}

// sized are boxes of 1 GiB each; "kept" is kept and "empty" is empty.
func sized(ago map[string]time.Duration) []Facts {
	var facts []Facts
	for name, d := range ago {
		f := idle(Applied, d)
		f.Box.ID, f.Box.Name, f.Box.Kept = "id of "+name, name, name == "kept"
		if name == "empty" {
			f.Bytes = 0
		}
		facts = append(facts, f)
	}
	return facts
}

func names(collected []forkbox.Collected) string {
	var text string
	for _, c := range collected {
		text += fmt.Sprint(" ", c.Name)
	}
	return text
}
