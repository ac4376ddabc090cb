package scope

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestWhatDeservesASecondLookTogether: deletions outside the workspace, of
// large directories and of many files, and any change of the system.
func TestWhatDeservesASecondLookTogether(t *testing.T) {
	gone := func(p string, below int) forkbox.Change {
		return forkbox.Change{Path: p, Kind: forkbox.Deleted, Type: "dir", Entries: below}
	}
	added := func(p string) forkbox.Change { return forkbox.Change{Path: p, Kind: forkbox.Added, Type: "file"} }
	modified := func(p string) forkbox.Change {
		return forkbox.Change{Path: p, Kind: forkbox.Modified, Type: "file"}
	}
	packages := func(paths []string) map[string][]string {
		by := map[string][]string{}
		for _, p := range paths {
			if name, has := strings.CutPrefix(path.Base(p), "of-"); has {
				by[p] = strings.Split(name, "+")
			}
		}
		return by
	}
	var many, ofMany []forkbox.Change
	for i := range 22 {
		ofMany = append(ofMany, modified(fmt.Sprintf("/opt/%d/of-x", i)))
	}
	for i := range 100 {
		many = append(many, gone(fmt.Sprintf("/w/f%d", i), 0))
	}
	for _, row := range []struct {
		name, root string
		changes    []forkbox.Change
		want       []string
	}{
		{"work", "/w", []forkbox.Change{added("/w/a"), gone("/w/b", 3), added("/srv/x"), added("/etcetera")}, nil},
		{"the system", "/w", []forkbox.Change{gone("/etc/ssl", 297)}, []string{"/etc/ssl: deleted, outside the workspace, with 297 paths below"}},
		{"elsewhere", "/w", []forkbox.Change{gone("/srv/x", 0)}, []string{"/srv/x: deleted, outside the workspace"}},
		{"the workspace itself", "/w", []forkbox.Change{gone("/w", 1)}, []string{"/w: deleted, outside the workspace, with 1 path below"}},
		{"no workspace", "", []forkbox.Change{gone("/w/x", 0)}, []string{"/w/x: deleted, outside the workspace"}},
		{"moved away", "/w", []forkbox.Change{{Path: "/w/ssl", From: "/etc/ssl", Kind: forkbox.Renamed, Type: "dir"}},
			[]string{"/etc/ssl: deleted, outside the workspace"}},
		{"replaced", "/w", []forkbox.Change{{Path: "/srv/d", Kind: forkbox.Type, Type: "file", OldMode: 1<<31 | 0o755}},
			[]string{"/srv/d: deleted, outside the workspace"}},
		{"a directory of the workspace", "/w", []forkbox.Change{gone("/w/src", 10)}, []string{"/w/src: a whole directory is deleted, with 10 paths below"}},
		{"many files", "/w", many, []string{"/w: 100 paths in it are deleted"}},
		{"many files elsewhere", "/v", many[:22], append(func() (list []string) {
			for _, c := range many[:20] {
				list = append(list, c.Path+": deleted, outside the workspace")
			}
			return list
		}(), "/: 2 more paths are deleted outside the workspace")},
		{"one change of the system", "/w", []forkbox.Change{added("/etc/motd")}, []string{"/etc/motd: a change of the system, in /etc"}},
		{"several", "/w", []forkbox.Change{added("/usr/bin/x"), added("/usr/lib/y")}, []string{"/usr: 2 changes of the system in it, /usr/bin/x the first"}},
		{"work in the system", "/etc/nginx", []forkbox.Change{gone("/etc/nginx/a", 0)}, []string{"/etc/nginx/a: deleted, outside the workspace"}},
		{"a package's directory", "/w", []forkbox.Change{gone("/etc/of-openssl+ca", 297)},
			[]string{"/etc/of-openssl+ca: deleted, outside the workspace, with 297 paths below; owned by openssl, ca"}},
		{"a package's file, moved", "/w", []forkbox.Change{{Path: "/w/x", From: "/opt/of-x", Kind: forkbox.Renamed, Type: "file"}},
			[]string{"/opt/of-x: deleted, outside the workspace; owned by x"}},
		{"a package's file of the system", "/w", []forkbox.Change{modified("/etc/of-x")}, []string{"/etc/of-x: a change of the system, in /etc; owned by x"}},
		{"several of packages", "/w", []forkbox.Change{modified("/etc/of-x"), modified("/etc/mine"), modified("/etc/2/of-x"), modified("/etc/of-a+b+c")},
			[]string{"/etc: 4 changes of the system in it, /etc/of-x the first; owned by a, b, c and 1 more"}},
		{"a package's file elsewhere", "/w", []forkbox.Change{modified("/opt/of-x"), modified("/opt/mine")},
			[]string{"/opt/of-x: changed, outside the workspace; owned by x"}},
		{"a package's link elsewhere", "/w", []forkbox.Change{{Path: "/opt/of-x", Kind: forkbox.Mode, Type: "symlink"}},
			[]string{"/opt/of-x: changed, outside the workspace; owned by x"}},
		{"many of packages", "/w", ofMany, append(func() (list []string) {
			for _, c := range ofMany[:20] {
				list = append(list, c.Path+": changed, outside the workspace; owned by x")
			}
			return list
		}(), "/: 2 more paths that packages own are changed or deleted")},
		{"a package's directory with another mode", "/w", []forkbox.Change{{Path: "/opt/of-x", Kind: forkbox.Mode, Type: "dir"}}, nil},
		{"a new file in a package's place", "/w", []forkbox.Change{added("/opt/of-x")}, nil},
		{"where work is usual", "/usr/src/app", []forkbox.Change{gone("/usr/src/app/a", 0), added("/usr/src/app/b")}, nil},
	} {
		s := NewSweep(row.root)
		for _, c := range row.changes {
			s.Add(c)
		}
		var got []string
		for _, c := range s.Cautions(packages) {
			got = append(got, c.Path+": "+c.Why)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestPackagesAreNotAskedForWork: to read what all packages own takes a while.
func TestPackagesAreNotAskedForWork(t *testing.T) {
	s := NewSweep("/w")
	for _, c := range []forkbox.Change{
		{Path: "/w/a", Kind: forkbox.Modified, Type: "file"},
		{Path: "/w/d", Kind: forkbox.Deleted, Type: "dir", Entries: 100},
		{Path: "/w/n", From: "/w/m", Kind: forkbox.Renamed, Type: "file"},
		{Path: "/opt/new", Kind: forkbox.Added, Type: "file"},
	} {
		s.Add(c)
	}
	s.Cautions(func(paths []string) map[string][]string {
		t.Errorf("they were asked for %q", paths)
		return nil
	})
}
