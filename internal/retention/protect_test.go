package retention

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// protections are ways to keep a box, each with what gc says of it.
var protections = []struct {
	why     string
	protect func(*Facts)
}{
	{"it is being created", func(f *Facts) { f.Box.State = forkbox.Creating }},
	{"it is being removed", func(f *Facts) { f.Box.State = forkbox.Removing }},
	{`its state is "", which this version does not know`, func(f *Facts) { f.Box.State = "" }},
	{`its state is "paused", which this version does not know`, func(f *Facts) { f.Box.State = "paused" }},
	{"a snapshot of it is being made", func(f *Facts) { f.Box.Saving = "layer" }},
	{"it is being adapted to what was applied", func(f *Facts) { f.Box.Rebase = "receipt" }},
	{"processes run in it", func(f *Facts) { f.Running = true }},
	{"it was started to stay up; forkbox stop ends that", func(f *Facts) { f.Box.Pinned = true }},
	{"its owner wants it kept", func(f *Facts) { f.Box.Kept = true }},
	{"a needs its snapshots; it can go once that has gone", func(f *Facts) { f.Children = []string{"a"} }},
	{"a, b and c need its snapshots; it can go once they have gone", func(f *Facts) { f.Children = []string{"a", "b", "c"} }},
	{"nothing says when it was made", func(f *Facts) { f.Box.Created = time.Time{} }},
	{"it could not be found out whether it has changes", func(f *Facts) { f.Outcome = "" }},
	{"it could not be found out whether it has changes", func(f *Facts) { f.Outcome = "max-size" }},
}

// asked are requests that speak against an old box, each in its own way.
var asked = []forkbox.GCSpec{
	{OlderThan: 1}, {IdleFor: 1}, {MaxSize: 1}, {OlderThan: 1, IdleFor: 1, MaxSize: 1},
}

func TestProtectedWhateverIsAsked(t *testing.T) {
	for _, p := range protections {
		for _, spec := range asked {
			for _, spec.Unreviewed = range []bool{false, true} {
				f := idle(Applied, 9*day)
				p.protect(&f)
				if got := verdict(t, f, spec, Default(), 1<<40); got != "stays: "+p.why {
					t.Errorf("%+v: %q, want %q", spec, got, p.why)
				}
			}
		}
	}
}

// TestProtectedFromThePolicy: also where nothing was asked for.
func TestProtectedFromThePolicy(t *testing.T) {
	for _, p := range protections {
		f := idle(Applied, 9*day)
		p.protect(&f)
		policy := Default()
		policy.MaxSize = 1
		if got := verdict(t, f, forkbox.GCSpec{}, policy, 1<<40); got != "stays: "+p.why {
			t.Errorf("%q, want %q", got, p.why)
		}
	}
}

func TestUnreviewedNeedsARequest(t *testing.T) {
	for _, spec := range asked {
		const why = "stays: it has changes that were neither applied nor discarded; --unreviewed removes it too"
		if got := verdict(t, idle(Unreviewed, 9*day), spec, Default(), 1<<40); got != why {
			t.Errorf("%+v: %q", spec, got)
		}
		spec.Unreviewed = true
		if got := verdict(t, idle(Unreviewed, 9*day), spec, Default(), 1<<40); got[:6] != "goes: " {
			t.Errorf("%+v: %q", spec, got)
		}
	}
}

// TestAdviceThatWorks: --unreviewed is not proposed for a box that something
// else protects as well.
func TestAdviceThatWorks(t *testing.T) {
	f := idle(Unreviewed, 9*day)
	f.Running = true
	if got := verdict(t, f, forkbox.GCSpec{IdleFor: 1}, Default(), 0); got != "stays: processes run in it" {
		t.Errorf("%q", got)
	}
}

// TestAnIdleInitIsNoReason: a box can be up and have nothing to do.
func TestAnIdleInitIsNoReason(t *testing.T) {
	f := idle(Applied, 9*day)
	f.Box.State = forkbox.Running
	if got := verdict(t, f, forkbox.GCSpec{}, Default(), 0); got[:6] != "goes: " {
		t.Errorf("%q", got)
	}
}

// TestNothingSpeaksAgainstIt: what protects a box is not told where nothing
// would remove it.
func TestNothingSpeaksAgainstIt(t *testing.T) {
	for _, p := range protections {
		f := idle(Applied, time.Hour)
		p.protect(&f)
		f.Box.Created = now.Add(-time.Hour)
		if got := verdict(t, f, forkbox.GCSpec{}, Default(), 1<<40); got != "" {
			t.Errorf("%q", got)
		}
	}
}
