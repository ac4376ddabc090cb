package change

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// twoTrees are what two boxes made of one: each script runs in one of them.
func twoTrees(t testing.TB, start, old, new string) fixture {
	t.Helper()
	f := newFixture(t)
	for dir, script := range map[string]string{f.base: old, f.upper: new} {
		shell(t, dir, "umask 022\n"+start+"\n"+script)
	}
	return f
}

func (f fixture) trees(t testing.TB, paths ...Path) Trees {
	t.Helper()
	open := func(dir string) *os.File {
		root, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		return root
	}
	return Trees{Old: open(f.base), New: open(f.upper), Paths: slices.Values(paths)}
}

func differences(t testing.TB, trees Trees) (all []forkbox.Change) {
	t.Helper()
	err := Between(t.Context(), trees, func(c forkbox.Change, _ forkbox.Sides) error {
		if n := len(all); n > 0 && forkbox.ComparePaths(all[n-1].Path, c.Path) >= 0 {
			t.Errorf("%q comes before %q", all[n-1].Path, c.Path)
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const someFiles = "mkdir d d/sub; echo a >d/a; echo b >d/b; echo s >d/sub/s; echo f >f; ln -s f link"

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		paths          []Path
		want           []string
	}{
		{"the same", "echo x >n", "echo x >n", []Path{{"/n", false}}, nil},
		{"not asked for", "", "echo x >f", []Path{{"/d", false}}, nil},
		{"content", "echo 1 >f", "echo 2 >f", []Path{{"/f", false}}, []string{"modified file /f"}},
		{"mode", "", "chmod 600 f; chmod 700 d", []Path{{"/d", false}, {"/f", false}}, []string{"mode dir /d (mode)", "mode file /f (mode)"}},
		{"one deleted", "rm f", "rm -r d", []Path{{"/d", true}, {"/f", false}}, []string{"deleted dir /d +4", "added file /f"}},
		{"both deleted", "rm -r d", "rm -r d", []Path{{"/d", true}}, nil},
		{"deleted dir comes back whole", "rm -r d", "", []Path{{"/d", true}}, []string{
			"added dir /d", "added file /d/a", "added file /d/b", "added dir /d/sub", "added file /d/sub/s"}},
		{"paths below are told once", "rm -r d", "echo A >d/a", []Path{{"/d", true}, {"/d/a", false}, {"/d/a", false}}, []string{
			"added dir /d", "added file /d/a", "added file /d/b", "added dir /d/sub", "added file /d/sub/s"}},
		{"moved", "mv d z", "echo x >d/a", []Path{{"/d", true}, {"/d/a", false}, {"/z", true}}, []string{
			"added dir /d", "added file /d/a", "added file /d/b", "added dir /d/sub", "added file /d/sub/s", "deleted dir /z +4"}},
		{"replaced, deep", "rm -r d; mkdir d; echo n >d/n", "", []Path{{"/d", true}}, []string{
			"added file /d/a", "added file /d/b", "deleted file /d/n", "added dir /d/sub", "added file /d/sub/s"}},
		{"not deep", "echo 1 >d/a", "echo 2 >d/b", []Path{{"/d", false}, {"/d/a", false}}, []string{"modified file /d/a"}},
		{"types", "rm link; mkdir link; echo x >link/x", "rm -r d; ln -s f d", []Path{{"/d", true}, {"/d/a", false}, {"/link", true}}, []string{
			"type symlink /d +4", "type symlink /link +1"}},
		{"a symlink on the way", "rm -r d; ln -s /etc d", "echo x >d/passwd", []Path{{"/d/passwd", false}}, []string{"added file /d/passwd"}},
		{"kernel's", "mkdir proc dev; echo 1 >proc/x; echo 1 >dev/x", "mkdir proc dev processes", []Path{{"/dev", true}, {"/proc", true}, {"/proc/x", false}, {"/processes", false}}, []string{"added dir /processes"}},
		{"links", "", "ln f h; ln f e", []Path{{"/e", false}, {"/f", false}, {"/h", false}}, []string{"added file /e", "linked file /f = /e", "added file /h = /e"}},
		{"root", "", "chmod 700 .", []Path{{"/", false}}, []string{"mode dir / (mode)"}},
		{"missing parents", "", "", []Path{{"/no/such/path", true}, {"/f/x", false}}, nil},
		{"odd names", "", `touch "$(printf 'x\377')" 'a
b'`, []Path{{"/a\nb", false}, {"/x\xff", false}}, []string{"added file /a\nb", "added file /x\xff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := twoTrees(t, someFiles, c.old, c.new)
			slices.SortFunc(c.paths, func(a, b Path) int { return forkbox.ComparePaths(a.Name, b.Name) })
			if got := lines(differences(t, f.trees(t, c.paths...))); !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

func TestBetweenSides(t *testing.T) {
	f := twoTrees(t, someFiles, "echo old >f", "echo new >f; rm -r d")
	saw := 0
	err := Between(t.Context(), f.trees(t, Path{"/d", true}, Path{"/f", false}), func(c forkbox.Change, s forkbox.Sides) error {
		saw++
		if c.Path == "/f" {
			wantContent(t, s, "old\n", "new\n")
			return nil
		}
		wantAbsent(t, s.New)
		n := 0
		if err := s.Below(func(string, forkbox.Node, bool) error { n++; return nil }); err != nil || n != 4 {
			t.Errorf("%d below, %v", n, err)
		}
		return nil
	})
	if err != nil || saw != 2 {
		t.Errorf("%d, %v", saw, err)
	}
}

func TestBetweenRefuses(t *testing.T) {
	f := twoTrees(t, someFiles, "", "")
	for _, name := range []string{"", "f", "/d/../f", "/d/", "//f"} {
		err := Between(t.Context(), f.trees(t, Path{name, true}), nil)
		if err == nil || forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Between(ctx, f.trees(t, Path{"/f", true}), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A file that neither box touched is not read, one of the same inode number
// that was touched is.
func TestBetweenReadsOnlyWhatWasTouched(t *testing.T) {
	f := newFixture(t)
	write(t, "x", f.base, "f")
	if err := os.Link(f.base+"/f", f.upper+"/f"); err != nil {
		t.Fatal(err)
	}
	w := &walker{}
	e := &entry{w: w}
	e.up, _ = lstat(atDir(t, f.upper), "f")
	e.base = e.up
	for since, want := range map[time.Time]bool{{}: false, time.Now().Add(time.Hour): true, time.Unix(1, 0): false} {
		if w.since = since; w.untouched(e) != want {
			t.Errorf("since %v: %v", since, !want)
		}
	}
	w.since = time.Now().Add(time.Hour)
	e.base.Ctim.Nsec++
	if w.untouched(e) {
		t.Error("it was touched")
	}
}

func atDir(t *testing.T, dir string) int {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

// What Between says of two whole trees is what comparing them in full says.
func TestBetweenEqualsFullComparison(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		common := ops(rt, "common", 10)
		for _, dir := range []string{f.base, f.upper} {
			for _, name := range []string{"a/a/a", "a/b/c", "b/a/a", "b/c/b"} {
				write(t, name, dir, name)
			}
			for _, o := range common {
				o.do(dir)
			}
		}
		for _, o := range ops(rt, "old", 10) {
			o.do(f.base)
		}
		for _, o := range ops(rt, "new", 10) {
			o.do(f.upper)
		}
		old, new := tree(f.base), tree(f.upper)
		want := compareTrees(old, new)
		have := map[string]told{}
		for _, c := range differences(t, f.trees(t, Path{"/", true})) {
			have[c.Path] = told{c.Kind, c.Link, strings.Join(c.Attrs, " "), c.Owner}
		}
		os.RemoveAll(filepath.Dir(f.base))
		if !maps.Equal(have, want) {
			rt.Fatalf("Between says %v\na full comparison %v\nold %v\nnew %v", have, want, old, new)
		}
	})
}
