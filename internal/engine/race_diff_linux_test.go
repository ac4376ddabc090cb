package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What both views show as the same inode is passed over, with all below it; what
// a running box is given is no change; what a setup made and an approach deleted
// is one, although reality does not have it either.
func TestTouchedPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range strings.Fields("old/d/same old/d/gone old/d/mod now/d/new now/d/mod now/d/given") {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	check(t, os.Link(dir+"/old/d/same", dir+"/now/d/same"))
	old, err := os.Open(dir + "/old")
	check(t, err)
	defer old.Close()
	now, err := os.Open(dir + "/now")
	check(t, err)
	defer now.Close()
	for _, c := range []struct {
		now  *os.File
		want string
	}{{now, "/d /d/gone /d/mod /d/new"}, {old, ""}} {
		paths, err := touchedPaths(context.Background(), old, c.now, []string{"", "/nowhere", "/d/new", "/d/mod"})
		check(t, err)
		var names []string
		for _, p := range paths {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}
