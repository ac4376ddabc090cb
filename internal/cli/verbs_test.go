package cli

import (
	"io"
	"testing"

	"github.com/forkbox/forkbox/internal/cli/app"
)

// TestVerbsAreWhatTheyAreCalled: a verb that is made alone is found by its name,
// and is the same as among all others.
func TestVerbsAreWhatTheyAreCalled(t *testing.T) {
	all := root(app.New("", []string{"forkbox"}, io.Discard, io.Discard))
	n := 0
	for _, group := range verbs() {
		for _, v := range group.list {
			n++
			among, _, err := all.Find([]string{v.name})
			if err != nil || among.Name() != v.name {
				t.Errorf("%s is %s: %v", v.name, among.Name(), err)
				continue
			}
			for _, args := range [][]string{{"forkbox", v.name}, {"forkbox", "--json", v.name, "x"}} {
				alone, _, err := root(app.New("", args, io.Discard, io.Discard)).Find([]string{v.name})
				if err != nil || alone.UsageString() != among.UsageString() || alone.GroupID != among.GroupID {
					t.Errorf("%q is not the same alone: %v", args, err)
				}
			}
		}
	}
	if len(all.Commands()) != n {
		t.Errorf("%d verbs, and %d in the table", len(all.Commands()), n)
	}
}

// TestOnlyWhatIsNeededIsMade, and everything for who asks about everything.
func TestOnlyWhatIsNeededIsMade(t *testing.T) {
	for _, args := range [][]string{{}, {"forkbox"}, {"forkbox", "--help"}, {"forkbox", "help", "run"}, {"forkbox", "man"}, {"forkbox", "nosuch"}, {"forkbox", "__complete", "r"}, {"forkbox", "list"}} {
		if n := len(root(app.New("", args, io.Discard, io.Discard)).Commands()); n < 40 {
			t.Errorf("%q has %d verbs", args, n)
		}
	}
	for _, args := range [][]string{{"forkbox", "run", "--", "man"}, {"forkbox", "--json", "ls"}, {"forkbox", "race", "ls"}} {
		if n := len(root(app.New("", args, io.Discard, io.Discard)).Commands()); n != 1 {
			t.Errorf("%q has %d verbs", args, n)
		}
	}
}
