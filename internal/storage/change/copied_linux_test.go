package change

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// copies: what a box does, what reality does afterwards, and whether a path
// of the box is a copy of what reality had there.
var copies = []struct {
	name, box, reality, path string
	want                     bool
}{
	{"edited", "echo x >>f", "", "/f", true},
	{"edited, and deleted in reality", "echo x >>f", "rm f", "/f", true},
	{"edited, and moved in reality", "echo x >>f", "mv f f2", "/f", true},
	{"edited below a renamed directory, and deleted in reality", "mv d z; echo x >>z/a", "rm d/a", "/z/a", true},
	{"new", "echo x >n", "", "/n", false},
	{"replaced", "rm f; echo x >f", "", "/f", false},
	{"moved", "mv f n; echo x >>n", "", "/n", false},
	{"moved, and a new one in its place", "mv f n; echo x >f", "", "/n", false},
	{"moved, and an equal one in its place", "mv f n; cp n f", "", "/n", false},
	{"moved out of what was deleted", "mv d/a n; rm -r d", "", "/n", false},
	{"moved out of what was replaced", "mv d/a n; rm -r d; mkdir d", "", "/n", false},
	{"moved out of what became a file", "mv d/a n; rm -r d; echo x >d", "", "/n", false},
	{"moved out of what another took the place of", "mv d/a n; rm -r d; mv e d", "", "/n", false},
	{"moved out of a moved directory", "mv d z; mv z/a n", "", "/n", false},
	{"linked", "ln f n", "", "/n", false},
	{"linked to before", "ln f a", "", "/a", false},
	{"moved, and reality works beside it", "mv f n", "echo x >other", "/n", false},
	{"moved to a new directory, and reality works beside it", "mkdir new; mv f new/n", "echo x >other", "/new/n", false},
	{"moved to a new directory", "mkdir new; mv f new/n; echo x >>new/n", "", "/new/n", false},
	{"edited, and its directory deleted in reality", "echo x >>d/a", "rm -r d", "/d/a", true},
	{"moved, and its source deleted in reality", "mv f n", "rm f", "/n", true},
}

func TestCopied(t *testing.T) {
	for _, c := range copies {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, "mkdir d e; echo f >f; echo a >d/a; echo b >e/b")
			inOverlay(t, f, "redirect_dir=on", func(merged string) error { return run(merged, c.box) })
			shell(t, f.base, c.reality)
			wantCopied(t, f.source(), c.path, c.want)
		})
	}
}

func TestCopiedRootless(t *testing.T) {
	for _, c := range copies {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, "mkdir d e; echo f >f; echo a >d/a; echo b >e/b")
			rootless(t, f, c.box)
			shell(t, f.base, c.reality)
			src := f.source()
			src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
			if c.box == "mv d z; echo x >>z/a" {
				c.want = false // here a directory is moved by copying it
			}
			wantCopied(t, src, c.path, c.want)
		})
	}
}

func wantCopied(t *testing.T, src Source, path string, want bool) {
	t.Helper()
	at(t, src, path, func(_ forkbox.Change, s forkbox.Sides) {
		if s.Copied() != want {
			t.Errorf("copied: %v", !want)
		}
	})
}

// TestDeletedDirectoryCountsWhatMovedOut: directories that the box moved out of
// one that it deleted or replaced are counted, and what is in them is not among
// what went.
func TestDeletedDirectoryCountsWhatMovedOut(t *testing.T) {
	for _, c := range []struct {
		box            string
		entries, moved int
	}{
		{"rm -r d", 6, 0},
		{"mv d/s n; rm -r d", 4, 1},
		{"mv d/s n; mv d/t e/t; rm -r d", 2, 2},
		{"mv d/s n; rm -r d; echo x >d", 4, 1},
	} {
		t.Run(c.box, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, "mkdir -p d/s d/t e; echo >d/a; echo >d/b; echo >d/s/x; echo >d/t/y")
			inOverlay(t, f, "redirect_dir=on", func(merged string) error { return run(merged, c.box) })
			at(t, f.source(), "/d", func(got forkbox.Change, _ forkbox.Sides) {
				if got.Entries != c.entries || got.MovedOut != c.moved {
					t.Errorf("%d went and %d were moved out, not %d and %d", got.Entries, got.MovedOut, c.entries, c.moved)
				}
			})
		})
	}
}
