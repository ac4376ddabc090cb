package git

import (
	"strings"
	"testing"
)

// After its files were put back, the commit goes too, and the work tree is as
// clean as it was. What else is staged stays staged.
func TestUncommitTakesTheLastCommitOff(t *testing.T) {
	w := newWorld(t, "echo 1 >f; echo 1 >gone; echo 1 >mine")
	before := w.sh("git rev-parse HEAD")
	w.sh("echo 2 >mine; git add mine; echo 2 >f; rm gone; echo 1 >new")
	id := w.mustCommit(CommitSpec{Paths: w.path("f", "gone", "new")})
	w.sh("echo 1 >f; echo 1 >gone; rm new")
	if why, err := w.Uncommit(t.Context(), id); err != nil || why != "" {
		t.Fatalf("%q, %v", why, err)
	}
	w.want("git rev-parse HEAD", before)
	w.want("git status --porcelain", "M  mine")
}

// A commit that others have, that something was built on, or whose files were
// staged anew stays, and nothing is touched.
func TestUncommitLeavesWhatMustStay(t *testing.T) {
	for name, row := range map[string]struct{ script, why string }{
		"moved on": {"git commit -q --allow-empty -m next", "not the last one"},
		"pushed":   {"git update-ref refs/remotes/origin/main HEAD", "origin/main has it"},
		"tagged":   {"git tag v1", "v1 has it"},
		"staged":   {"echo 3 >f; git add f", "has been staged since"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "echo 1 >f")
			w.sh("echo 2 >f")
			id := w.mustCommit(CommitSpec{Paths: w.path("f")})
			w.sh(row.script)
			before := w.photo()
			why, err := w.Uncommit(t.Context(), id)
			if err != nil {
				why += err.Error()
			}
			if !strings.Contains(why, row.why) {
				t.Errorf("%q, %v", why, err)
			}
			if after := w.photo(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestUncommitOfTheFirstCommitOfAll(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	if why, err := w.Uncommit(t.Context(), w.sh("git rev-parse HEAD")); err != nil || !strings.Contains(why, "no parent") {
		t.Errorf("%q, %v", why, err)
	}
}
