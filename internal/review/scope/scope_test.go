package scope

import (
	"io/fs"
	"maps"
	"testing"

	"github.com/forkbox/forkbox"
)

// files are a reality of ignore files.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	content, ok := f[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(content), nil
}

var (
	gitProject   = files{"/w/.git/HEAD": "ref: refs/heads/main\n"}
	plainProject = files{}
)

func with(base files, more files) files {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

func scopeOf(f files, root string, c forkbox.Change) forkbox.Scope {
	if c.Kind == "" {
		c.Kind = forkbox.Modified
	}
	if c.Type == "" {
		c.Type = "file"
	}
	return New(root, "/people/me", f.read).Scope(c)
}

// TestPlaces is about where things lie, with no ignore files.
func TestPlaces(t *testing.T) {
	for want, paths := range map[forkbox.Scope][]string{
		forkbox.Workspace: {"/w", "/w/a", "/w/tmp/a", "/w/node_modules/a/b", "/w/\xff\n: ", "/w/a.pyc", "/w/.cache/x", "/w/x.swp"},
		forkbox.System: {"/w2/a", "/etc/passwd", "/usr/bin/x", "/tmp", "/var/log", "/var/cache", "/var/lib/dpkg/status", "/tmpfile",
			"/home/u/.bashrc", "/home/u/.cached", "/home/.cache", "/root/.npm/x", "/people/me/.ssh/config", "/opt/node_modules/.cache/x",
			"/opt/.forkbox-x", "/people/you/.cache/x", "/etc/ld.so.cache", "/people/me", "/"},
		forkbox.Noise: {"/tmp/a", "/var/tmp/a/b", "/var/log/syslog", "/var/cache/apt/archives/x.deb", "/var/cache/ldconfig/aux-cache", "/run/x",
			"/var/lib/apt/lists/x", "/home/u/.cache/x", "/root/.cache/x", "/root/.cache", "/people/me/.cache/x", "/home/u/.npm/_cacache/x", "/home/u/.config/go/telemetry/local/x",
			"/home/u/.npm/_logs/x", "/home/u/.local/share/Trash/files/x", "/root/.bash_history", "/home/u/.python_history", "/etc/mtab",
			"/usr/lib/python3/__pycache__/x", "/opt/x.pyc", "/opt/.forkbox-1/x", "/.forkbox-1/x", "/people/me/go/pkg/mod/m@v1/x.go",
			"/w/.forkbox-1/x"},
	} {
		for _, p := range paths {
			if got := scopeOf(gitProject, "/w", forkbox.Change{Path: p}); got != want {
				t.Errorf("%q is %s, not %s", p, got, want)
			}
		}
	}
}

// TestNoWorkspace: a box made in / has none.
func TestNoWorkspace(t *testing.T) {
	reality := files{"/.gitignore": "*", "/etc/.gitignore": "*"}
	s := New("", "/root", reality.read)
	s.Learn("/etc/.gitignore", []byte("*"))
	for p, want := range map[string]forkbox.Scope{"/etc/x": forkbox.System, "/tmp/x": forkbox.Noise, "/": forkbox.System} {
		for _, kind := range []forkbox.Kind{forkbox.Added, forkbox.Modified, forkbox.Deleted} {
			if got := s.Scope(forkbox.Change{Path: p, Kind: kind, Type: "dir"}); got != want {
				t.Errorf("%s %s is %s, not %s", kind, p, got, want)
			}
		}
	}
}

// TestWorkspaceAndPlaces: a place of noise does not count for a workspace that
// lies in it, but does for one that it lies in.
func TestWorkspaceAndPlaces(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       forkbox.Scope
	}{
		{"/tmp/p", "/tmp/p/a", forkbox.Workspace},
		{"/tmp/p", "/tmp/p/.cache/a", forkbox.Workspace},
		{"/tmp/p", "/tmp/q", forkbox.Noise},
		{"/root/.cache/p", "/root/.cache/p/a", forkbox.Workspace},
		{"/home/u", "/home/u/a", forkbox.Workspace},
		{"/home/u", "/home/u/.cache/a", forkbox.Noise},
		{"/home/u", "/home/u/.bash_history", forkbox.Noise},
		{"/var", "/var/log/x", forkbox.Noise},
		{"/var", "/var/www/x", forkbox.Workspace},
		{"/var/log", "/var/log/x", forkbox.Workspace},
	} {
		if got := scopeOf(plainProject, c.root, forkbox.Change{Path: c.path}); got != c.want {
			t.Errorf("%q in workspace %q is %s, not %s", c.path, c.root, got, c.want)
		}
	}
}

// TestOddHomes: a home may be unknown, "/", or written carelessly.
func TestOddHomes(t *testing.T) {
	for home, want := range map[string]forkbox.Scope{
		"": forkbox.System, "/": forkbox.System, "relative": forkbox.System, "/srv/me/": forkbox.Noise, "/srv/me": forkbox.Noise,
	} {
		s := New("/w", home, plainProject.read)
		if got := s.Scope(forkbox.Change{Path: "/srv/me/.cache/x", Kind: forkbox.Added, Type: "file"}); got != want {
			t.Errorf("home %q: %s", home, got)
		}
		cautions := Cautions(forkbox.Change{Path: "/srv/me/.bashrc", Kind: forkbox.Added, Type: "file"}, forkbox.Node{}, "/w", home)
		if (len(cautions) == 1) != (want == forkbox.Noise) {
			t.Errorf("home %q: %q", home, cautions)
		}
	}
}

// TestHomeBelowTmp: the home is in one place of noise, its cache is another.
func TestHomeBelowTmp(t *testing.T) {
	s := New("/tmp/h", "/tmp/h", plainProject.read)
	if got := s.Scope(forkbox.Change{Path: "/tmp/h/.cache/x", Kind: forkbox.Added, Type: "file"}); got != forkbox.Noise {
		t.Error(got)
	}
}

func TestPlainWorkspaceLeftovers(t *testing.T) {
	leftovers := []forkbox.Change{
		{Path: "/w/a/.DS_Store"}, {Path: "/w/.x.swp"}, {Path: "/w/x~"}, {Path: "/w/__pycache__/x"}, {Path: "/w/__pycache__", Type: "dir"},
		{Path: "/w/.pytest_cache/x"}, {Path: "/w/.mypy_cache/x"}, {Path: "/w/node_modules/.cache/x"}, {Path: "/w/a/node_modules/.cache/x"},
	}
	for _, c := range leftovers {
		if got := scopeOf(plainProject, "/w", c); got != forkbox.Noise {
			t.Errorf("%q is %s in a plain directory", c.Path, got)
		}
		if got := scopeOf(gitProject, "/w", c); got != forkbox.Workspace {
			t.Errorf("%q is %s where git has not been told", c.Path, got)
		}
	}
	kept := with(plainProject, files{"/w/.forkboxignore": "!*.swp\n"})
	if got := scopeOf(kept, "/w", forkbox.Change{Path: "/w/.x.swp"}); got != forkbox.Workspace {
		t.Error("an ignore file could not bring a leftover back")
	}
}

func TestIgnoreFiles(t *testing.T) {
	reality := with(gitProject, files{
		"/w/.gitignore":                     "*.log\nbuild/\n.env\nforced\n",
		"/w/.forkboxignore":                 "!.env\nbig/\n",
		"/w/src/.gitignore":                 "!keep.log\n/gen\n",
		"/w/build/.gitignore":               "!*\n",
		"/w/.git/info/exclude":              "notes\n*.sec\n",
		"/people/me/.config/forkbox/ignore": "*.mine\n!x.sec\n",
		"/people/me/.config/git/ignore":     "*.orig\n",
	})
	for p, want := range map[string]forkbox.Scope{
		"/w/a.log": forkbox.Noise, "/w/src/a.log": forkbox.Noise, "/w/src/keep.log": forkbox.Workspace, "/w/keep.log": forkbox.Noise,
		"/w/build/x": forkbox.Noise, "/w/build/x/y": forkbox.Noise, "/w/src/build/x": forkbox.Noise, "/w/build": forkbox.Workspace, // a file
		"/w/.env": forkbox.Workspace, "/w/big/x": forkbox.Noise, "/w/src/gen": forkbox.Noise, "/w/gen": forkbox.Workspace,
		"/w/notes": forkbox.Noise, "/w/y.sec": forkbox.Noise, "/w/x.sec": forkbox.Workspace, "/w/a.mine": forkbox.Noise, "/w/a.orig": forkbox.Noise,
		"/elsewhere/a.log": forkbox.System, "/elsewhere/a.mine": forkbox.System,
	} {
		if got := scopeOf(reality, "/w", forkbox.Change{Path: p}); got != want {
			t.Errorf("%q is %s, not %s", p, got, want)
		}
	}
}

// TestReadsOnceInOrder: a directory's ignore files are read when it is entered
// and dropped when it is left, and nothing is read in what the box made.
func TestReadsOnceInOrder(t *testing.T) {
	reads := map[string]int{}
	s := New("/w", "", func(path string) ([]byte, error) {
		reads[path]++
		return gitProject.read(path)
	})
	for _, c := range []forkbox.Change{
		{Path: "/w/a/1"}, {Path: "/w/a/2"}, {Path: "/w/a/b/1"}, {Path: "/w/a/c"}, {Path: "/w/new", Kind: forkbox.Added, Type: "dir"},
		{Path: "/w/new/x/y", Kind: forkbox.Added}, {Path: "/w/z"},
	} {
		s.Scope(c)
	}
	for _, dir := range []string{"/w", "/w/a", "/w/a/b"} {
		if n := reads[dir+"/.gitignore"]; n != 1 {
			t.Errorf("%s/.gitignore was read %d times", dir, n)
		}
	}
	if reads["/w/new/.gitignore"]+reads["/w/new/x/.gitignore"] != 0 {
		t.Error("read where reality has nothing")
	}
	if len(s.here.levels) != 1 {
		t.Errorf("keeps %d directories at the end", len(s.here.levels))
	}
}

func TestUnreadableIgnoreFileHidesNothing(t *testing.T) {
	s := New("/w", "/people/me", func(string) ([]byte, error) { return []byte("*"), fs.ErrPermission })
	if got := s.Scope(forkbox.Change{Path: "/w/a", Kind: forkbox.Added, Type: "file"}); got != forkbox.Workspace {
		t.Error(got)
	}
}

// TestNothingHidesTheWorkspaceGoing is about directories that go with all that
// is below them, and paths that move.
func TestNothingHidesTheWorkspaceGoing(t *testing.T) {
	reality := files{"/tmp/a/w/.git/HEAD": "x", "/tmp/a/w/.gitignore": "build/\n/part/*\n*.log\n"}
	const root = "/tmp/a/w"
	for _, c := range []struct {
		kind       forkbox.Kind
		from, path string
		typ        string
		want       forkbox.Scope
	}{
		{forkbox.Deleted, "", root + "/build", "dir", forkbox.Noise},
		{forkbox.Deleted, "", root + "/part", "dir", forkbox.Workspace}, // the rule is about what is in it
		{forkbox.Deleted, "", root + "/src", "dir", forkbox.Workspace},
		{forkbox.Deleted, "", root, "dir", forkbox.Workspace},
		{forkbox.Deleted, "", "/tmp/a", "dir", forkbox.Workspace},
		{forkbox.Deleted, "", "/tmp", "dir", forkbox.Workspace},
		{forkbox.Deleted, "", "/tmp/b", "dir", forkbox.Noise},
		{forkbox.Mode, "", "/tmp/a", "dir", forkbox.Noise},
		{forkbox.Renamed, root, "/tmp/b", "dir", forkbox.Workspace},
		{forkbox.Renamed, "/tmp/a", "/tmp/b", "dir", forkbox.Workspace},
		{forkbox.Renamed, root + "/src", "/tmp/src", "dir", forkbox.Workspace},
		{forkbox.Renamed, root + "/src", root + "/build/src", "dir", forkbox.Workspace},
		{forkbox.Renamed, root + "/build/x", root + "/x", "file", forkbox.Workspace},
		{forkbox.Renamed, root + "/build/x", root + "/build/y", "file", forkbox.Noise},
		{forkbox.Renamed, root + "/build/x", "/tmp/x", "file", forkbox.Noise},
		{forkbox.Renamed, "/etc/x", "/tmp/x", "file", forkbox.System},
		{forkbox.Renamed, "/tmp/x", "/etc/x", "file", forkbox.System},
		{forkbox.Renamed, "/etc/x", "/etc/y", "file", forkbox.System},
		{forkbox.Renamed, "/etc/x", root + "/x", "file", forkbox.Workspace},
		{forkbox.Type, "", root + "/build", "dir", forkbox.Workspace}, // a file named so was not ignored
		{forkbox.Type, "", root + "/build", "file", forkbox.Workspace},
		{forkbox.Type, "", root + "/x.log", "symlink", forkbox.Noise},
		{forkbox.Type, "", "/tmp/a", "symlink", forkbox.Workspace},
	} {
		change := forkbox.Change{Kind: c.kind, From: c.from, Path: c.path, Type: c.typ}
		if got := scopeOf(reality, root, change); got != c.want {
			t.Errorf("%s %q (from %q, %s) is %s, not %s", c.kind, c.path, c.from, c.typ, got, c.want)
		}
	}
}
