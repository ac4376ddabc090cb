package change

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// snapshot makes a layer of what was written so far, as a snapshot of a box
// does, and an empty upper that looks like it.
func (f *fixture) snapshot(t testing.TB) {
	t.Helper()
	root := filepath.Dir(f.base)
	layer := fmt.Sprintf("%s/l%d", root, len(f.layers))
	if err := os.Rename(f.upper, layer); err != nil {
		t.Fatal(err)
	}
	os.Chmod(f.work+"/work", 0o700)
	if err := os.RemoveAll(f.work); err != nil {
		t.Fatal(err)
	}
	f.layers = slices.Insert(f.layers, 0, layer)
	for _, dir := range []string{f.upper, f.work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	likeRoot(t, layer, f.upper)
}

// likeRoot gives a new upper the attributes of the root that it replaces.
func likeRoot(t testing.TB, from, to string) {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		t.Fatal(err)
	}
	os.Lchown(to, int(st.Uid), int(st.Gid))
	if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
		t.Fatal(err)
	}
}

// stages are what a box did, with a snapshot after each.
type stages []string

// stacked: what is done in a box between snapshots, and the changes it makes
// all in all.
var stacked = []struct {
	name string
	do   stages
	want []string
}{
	{"nothing", stages{"true", "true", "true"}, nil},
	{"added below", stages{"echo n >n", "true"}, []string{"added file /n"}},
	{"made and deleted", stages{"echo n >n; mkdir m; echo x >m/x", "rm -r n m"}, nil},
	{"made, and one in it deleted", stages{"mkdir m; echo x >m/x; echo y >m/y", "rm m/x"}, []string{"added dir /m", "added file /m/y"}},
	{"deleted and made again", stages{"rm f; rm -r d", "echo f >f"}, []string{"deleted dir /d +4"}},
	{"deleted and made otherwise", stages{"rm -r d", "mkdir d; echo A >d/a"}, []string{
		"modified file /d/a", "deleted file /d/b", "deleted dir /d/sub +1"}},
	{"opaque, then more in it", stages{"rm -r d; mkdir d; echo n >d/n", "echo m >d/m; rm d/n", "echo b >d/b"}, []string{
		"deleted file /d/a", "added file /d/m", "deleted dir /d/sub +1"}},
	{"put back", stages{"echo other >f; chmod 600 g; rm d/a", "echo f >f", "chmod 644 g; echo a >d/a"}, nil},
	{"changed twice", stages{"echo 1 >f", "echo 22 >f; chmod 600 f"}, []string{"modified file /f (mode)"}},
	{"type, back and forth", stages{"rm f; mkdir f; echo x >f/x", "rm -r f; ln -s g f", "rm f; echo f >f"}, nil},
	{"directory to file to directory", stages{"rm -r d; echo x >d", "rm d; mkdir d; echo a >d/a"}, []string{
		"deleted file /d/b", "deleted dir /d/sub +1"}},
	{"links in a layer", stages{"echo x >n; ln n m; ln f h", "true"}, []string{"added file /h = /f", "added file /m", "added file /n = /m"}},
	{"links, and one name gone", stages{"echo x >n; ln n m", "rm m"}, []string{"added file /n"}},
	{"links that a write parts", stages{"echo x >n; ln n m", "echo y >n"}, []string{"added file /m", "added file /n"}},
	{"modes of directories", stages{"chmod 700 d", "echo A >d/a", "chmod 755 d"}, []string{"modified file /d/a"}},
	{"mode of the root", stages{"chmod 700 .", "true"}, []string{"mode dir / (mode)"}},
	{"specials", stages{"mkfifo p; mknod c c 1 3", "chmod 600 p"}, []string{"added char /c", "added fifo /p"}},
}

// moved need redirect_dir=on.
var moved = []struct {
	name string
	do   stages
	want []string
}{
	{"renamed in a layer", stages{"mv d z", "true"}, []string{"renamed dir /z from /d"}},
	{"renamed, then changed", stages{"mv d z", "echo A >z/a; rm z/b; echo n >z/n"}, []string{
		"renamed dir /z from /d", "modified file /z/a", "deleted file /z/b", "added file /z/n"}},
	{"changed, then renamed", stages{"echo A >d/a; rm d/b; echo n >d/n", "mv d z"}, []string{
		"renamed dir /z from /d", "modified file /z/a", "deleted file /z/b", "added file /z/n"}},
	{"renamed thrice", stages{"mv d x", "mv x y", "mv y z"}, []string{"renamed dir /z from /d"}},
	{"renamed and back", stages{"mv d z", "mv z d"}, nil},
	{"renamed and back, changed on the way", stages{"mv d z", "echo n >z/n", "mv z d", "rm d/n"}, nil},
	{"into one that a layer made", stages{"mkdir n", "mv d n/d", "mv n m"}, []string{"added dir /m", "renamed dir /m/d from /d"}},
	{"made in a layer, then renamed", stages{"mkdir n; echo x >n/x", "mv n m", "echo y >m/y"}, []string{
		"added dir /m", "added file /m/x", "added file /m/y"}},
	{"replaced in a layer, then renamed", stages{"rm -r d; mkdir d; echo n >d/n", "mv d z"}, []string{
		"deleted dir /d +4", "added dir /z", "added file /z/n"}},
	{"made in a replaced one, then renamed", stages{"rm -r d; mkdir d; mkdir d/sub", "mv d/sub d/a"}, []string{
		"type dir /d/a (mode)", "deleted file /d/b", "deleted dir /d/sub +1"}},
	{"within a renamed one", stages{"mv d z", "mv z/sub z/bus", "mv z y"}, []string{"renamed dir /y from /d", "renamed dir /y/bus from /d/sub"}},
	{"out of a renamed one", stages{"mv d z", "mv z/sub e/s", "rm -r z"}, []string{"deleted dir /d +2", "renamed dir /e/s from /d/sub"}},
	{"swapped in steps", stages{"mv d t", "mv other d", "mv t other"}, []string{"renamed dir /d from /other", "renamed dir /other from /d"}},
	{"deleted after the move", stages{"mv d z", "rm -r z"}, []string{"deleted dir /d +4"}},
	{"another in its place", stages{"mv d z", "mkdir d; echo a >d/a", "mv d/a z/new"}, []string{
		"added dir /d", "renamed dir /z from /d", "added file /z/new"}},
	{"over one that was deleted", stages{"rm -r other", "mv d other", "echo n >other/n"}, []string{
		"deleted dir /other +1", "renamed dir /other from /d", "added file /other/n"}},
	{"into one that replaced its own", stages{"mv d/sub t; rm -r d; mkdir d", "mv t d/sub"}, []string{"deleted file /d/a", "deleted file /d/b"}},
}

// build makes a box by stages. The last one stays in the upper.
func (f *fixture) build(t testing.TB, do stages) {
	t.Helper()
	for i, script := range do {
		if i > 0 {
			f.snapshot(t)
		}
		inOverlay(t, *f, "redirect_dir=on", func(m string) error { return run(m, script) })
	}
}

func TestStacks(t *testing.T) {
	for _, c := range slices.Concat(stacked, moved) {
		t.Run(c.name, func(t *testing.T) { checkStack(t, newFixture(t), c.do, c.want) })
		t.Run(c.name+"/veiled", func(t *testing.T) { checkStack(t, newFixture(t).veiled(t), c.do, c.want) })
	}
}

func checkStack(t *testing.T, f fixture, do stages, want []string) {
	shell(t, f.base, baseTree)
	f.build(t, do)
	wantChanges(t, f.source(), want...)
	f.snapshot(t)
	src := f.source()
	src.Uppers[0].Dir = "" // all of it is in layers
	wantChanges(t, src, want...)
}

func TestRootlessStacks(t *testing.T) {
	for _, c := range stacked {
		if strings.Contains(fmt.Sprint(c.do), "mknod") {
			continue // refused in a user namespace
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, baseTree)
			for i, script := range c.do {
				if i > 0 {
					f.snapshot(t)
				}
				rootless(t, f, script)
			}
			wantChanges(t, f.rootlessSource(), c.want...)
		})
	}
}

func (f fixture) rootlessSource() Source {
	src := f.source()
	src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
	return src
}

// history is a random base, and a box that random things were done in, with
// snapshots at random moments. step sees it after each of its stages, last is
// true after the last of them.
func history(t testing.TB, rt *rapid.T, options string, step func(f fixture, base, box map[string]node, last bool)) {
	f := newFixture(t)
	defer os.RemoveAll(filepath.Dir(f.base))
	for _, name := range []string{"a/a/a", "a/a/b", "a/b/a", "a/b/c", "b/a/a", "b/c/a", "b/c/b"} {
		write(t, name, f.base, name)
	}
	for _, o := range ops(rt, "base", 6) {
		o.do(f.base)
	}
	base := tree(f.base)
	stages := rapid.IntRange(1, 4).Draw(rt, "stages")
	for i := range stages {
		if i > 0 {
			f.snapshot(t)
		}
		todo := restless(rt)
		var box map[string]node
		inOverlay(t, f, options, func(merged string) error {
			for _, o := range todo {
				o.do(merged)
			}
			return nil
		})
		box = f.seen(t, options) // mounted anew: nothing is remembered
		step(f, base, box, i == stages-1)
	}
}

// What Read says of a stack must be what comparing the two trees in full says.
func TestReadOfAStackEqualsFullComparison(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		history(t, rt, overlays[0], func(f fixture, base, box map[string]node, _ bool) {
			want, have := compareTrees(base, box), map[string]told{}
			for _, c := range changes(t, f.source()) {
				have[c.Path] = told{c.Kind, c.Link, strings.Join(c.Attrs, " "), c.Owner}
			}
			if !maps.Equal(have, want) {
				rt.Fatalf("%d layers\nRead says %v\na full comparison %v\nbase %v\nbox %v", len(f.layers), have, want, base, box)
			}
		})
	})
}

// With renamed directories: the changes, replayed on the base, make the box.
func TestReplayedChangesMakeTheStack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		history(t, rt, overlays[1], func(f fixture, base, box map[string]node, _ bool) {
			checkReplay(rt, base, box, changes(t, f.source()))
		})
	})
}

func checkReplay(rt fataler, base, box map[string]node, got []forkbox.Change) {
	made := replay(base, box, got)
	if !maps.EqualFunc(made, box, node.is) {
		rt.Fatalf("changes %v\nmake %v\nthe box has %v\nbase %v", lines(got), made, box, base)
	}
	if why := linksDiffer(made, box); why != "" {
		rt.Fatalf("changes %v\nmake %v\nthe box has %v\nbase %v\n%s", lines(got), made, box, base, why)
	}
}

// The sides of a change are where the topmost layer has it.
func TestSidesOfAStack(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, baseTree)
	f.build(t, stages{"echo layer >f; echo n >n; mv d z; echo A >z/a", "rm -r other; chmod 600 n", "true"})
	at(t, f.source(), "/f", func(_ forkbox.Change, s forkbox.Sides) {
		wantContent(t, s, "f\n", "layer\n")
		if !s.Copied() {
			t.Error("not told as a copy")
		}
	})
	at(t, f.source(), "/n", func(_ forkbox.Change, s forkbox.Sides) {
		wantContent(t, s, "nothing", "n\n")
		if n, err := s.New(); err != nil || n.Mode != 0o600 || s.Copied() {
			t.Errorf("%+v, %v, copied %v", n, err, s.Copied())
		}
	})
	at(t, f.source(), "/z/a", func(_ forkbox.Change, s forkbox.Sides) { wantContent(t, s, "a\n", "A\n") })
	if got := below(t, f.source(), "/other"); !slices.Equal(got, []string{"/other/x -rw-r--r-- 1"}) {
		t.Errorf("%q", got)
	}
}

// Whether a file began as a copy of the base is known however many snapshots
// lie between.
func TestCopiedThroughLayers(t *testing.T) {
	for _, c := range copies {
		t.Run(c.name, func(t *testing.T) {
			for _, spread := range []bool{false, true} {
				f := newFixture(t).veiled(t)
				if spread {
					f.veil = ""
				}
				shell(t, f.base, "mkdir d e; echo f >f; echo a >d/a; echo b >e/b")
				do := stages{c.box}
				if spread {
					do = strings.Split(c.box, "; ")
				}
				f.build(t, do)
				f.snapshot(t)
				inOverlay(t, f, "redirect_dir=on", func(m string) error { return run(m, "chmod 600 ."+c.path) })
				shell(t, f.base, c.reality)
				wantCopied(t, f.source(), c.path, c.want)
			}
		})
	}
}

// However large the machine is, and however many layers there are, what is
// looked at in the base is what the box changed.
func TestPromise9HoldsForStacks(t *testing.T) {
	var efforts []effort
	for _, size := range []int{10, 3000} {
		f, src := handmade(t)
		for i := range size {
			write(t, "x", f.base, "d", fmt.Sprintf("f%d", i))
		}
		for i := range 20 {
			layer := fmt.Sprintf("%s/l%d", filepath.Dir(f.base), i)
			write(t, "changed", layer, "d/f1")
			write(t, "new", layer, fmt.Sprintf("d/n%d", i))
			src.Uppers[0].Layers = append(src.Uppers[0].Layers, layer)
		}
		done, err := read(t.Context(), src, func(forkbox.Change, forkbox.Sides) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		efforts = append(efforts, done)
	}
	if efforts[0] != efforts[1] || efforts[0] != (effort{lookups: 22}) {
		t.Errorf("the work with 10 and with 3000 files in the base: %+v", efforts)
	}
}

// A redirect that a box wrote by hand must not lead out of the layers or the
// base, nor round in circles.
func TestHostileRedirectsInLayers(t *testing.T) {
	for _, to := range []string{"/../outside", "..", "/", "", "a/b", "/n/../..", "/link/x", "/n", "n", "/d/../d", strings.Repeat("x", 4000), "/" + strings.Repeat("y/", 500) + "z"} {
		f, src := handmade(t)
		layer := filepath.Dir(f.base) + "/l0"
		write(t, "x", filepath.Dir(f.base), "outside/secret")
		write(t, "x", f.base, "d/x")
		os.MkdirAll(layer, 0o755)
		os.Symlink("../outside", layer+"/link")
		os.Symlink("../outside", f.base+"/link")
		for _, dir := range []string{f.upper, layer} {
			write(t, "x", dir, "n/mine")
			setXattr(t, dir+"/n", "user.overlay.redirect", to)
		}
		src.Uppers[0].Layers = []string{layer}
		wantOnly(t, src, "/n", "/n/mine")
		into := t.TempDir()
		err := Flatten(t.Context(), Flattening{Layers: []string{f.upper, layer}, Into: into, XattrPrefix: "user.overlay.", Base: f.base, Expand: true})
		if err != nil {
			t.Errorf("%.20q: %v", to, err)
		}
		if _, err := os.Lstat(into + "/n/secret"); err == nil {
			t.Errorf("%.20q: led out", to)
		}
	}
}
