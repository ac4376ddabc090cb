package layers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// automatic: subvolumes where there are any, else the default; and what was
// asked for is what is used.
func automatic(t *testing.T, p place) {
	s, err := Open(p.open(t).home)
	must(t, err)
	want, because := "overlay", "the default"
	if onBtrfs(p.dir) {
		want, because = "btrfs", "lies on btrfs"
	}
	if name, why := s.Driver(); name != want || !strings.Contains(why, because) {
		t.Errorf("by itself it takes %s, because %s", name, why)
	}
	if name, why := p.open(t).Driver(); name != p.driver || why != "it was asked for" {
		t.Errorf("asked for %s it takes %s, because %s", p.driver, name, why)
	}
	wantWhole(t, s) // what was tried left nothing
}

func TestDriverThatCannot(t *testing.T) {
	for driver, try := range map[string]func(string) error{"btrfs": btrfs{}.try, "reflink": trySharing} {
		dir := t.TempDir()
		can := try(dir) == nil
		s, err := OpenWith(filepath.Join(dir, "home"), driver)
		switch {
		case can:
			must(t, err)
		case forkbox.CodeOf(err) != forkbox.Unsupported || s != nil || len(hints(err)) == 0:
			t.Errorf("%s: %v (%q)", driver, err, hints(err))
		}
	}
	if _, err := OpenWith(t.TempDir(), "zfs"); forkbox.CodeOf(err) != forkbox.Invalid || len(hints(err)) == 0 {
		t.Errorf("zfs: %v", err)
	}
}

func hints(err error) []string {
	if e, ok := err.(*forkbox.Error); ok {
		return e.Hints
	}
	return nil
}
