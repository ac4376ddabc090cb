package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// flat is a box whose upper and layers were made one layer, under a new upper.
func (f fixture) flat(t testing.TB, fl Flattening) fixture {
	t.Helper()
	root := filepath.Dir(f.base)
	into, err := os.MkdirTemp(root, "flat")
	if err != nil {
		t.Fatal(err)
	}
	if fl.Layers == nil {
		fl.Layers = append([]string{f.upper}, f.layers...)
	}
	fl.Into, fl.Base = into, f.base
	if fl.XattrPrefix == "" {
		fl.XattrPrefix = "trusted.overlay."
	}
	if err := Flatten(t.Context(), fl); err != nil {
		t.Fatal(err)
	}
	f.layers = []string{into}
	f.upper, f.work = into+"-upper", into+"-work"
	for _, dir := range []string{f.upper, f.work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	likeRoot(t, into, f.upper)
	return f
}

// detail is all that a box sees of a path but its content: see tree.
func detail(root string) map[string]string {
	all := map[string]string{}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			return err
		}
		list := make([]byte, 4096)
		n, _ := unix.Llistxattr(path, list)
		values := []string{}
		for name := range strings.SplitSeq(string(list[:max(n, 0)]), "\x00") {
			value := make([]byte, 256)
			size, _ := unix.Lgetxattr(path, name, value)
			if name != "" {
				values = append(values, fmt.Sprintf("%s=%q", name, value[:max(size, 0)]))
			}
		}
		slices.Sort(values)
		if path != root { // the root's is the new upper's
			all[strings.TrimPrefix(path, root)] = fmt.Sprint(st.Mtim.Nano(), " ", st.Mode, " ", st.Rdev, " ", st.Uid, ":", st.Gid, " ", values)
		}
		return nil
	})
	return all
}

// view is what a box shows.
type view struct {
	tree    map[string]node
	details map[string]string
}

func (f fixture) view(t testing.TB) (v view) {
	t.Helper()
	inOverlay(t, f, "redirect_dir=on,metacopy=off", func(merged string) error {
		v = view{tree(merged), detail(merged)}
		return nil
	})
	return v
}

// differs says how two views do, link structure included.
func (v view) differs(w view) string {
	switch {
	case !maps.EqualFunc(v.tree, w.tree, node.is):
		return fmt.Sprintf("%v\nis not\n%v", v.tree, w.tree)
	case !maps.Equal(v.details, w.details):
		return fmt.Sprintf("%v\nis not\n%v", v.details, w.details)
	case !maps.Equal(v.linked(), w.linked()):
		return fmt.Sprintf("links %v\nare not\n%v", v.linked(), w.linked())
	}
	return ""
}

// linked says for each file which is the first name that it has.
func (v view) linked() map[string]string {
	first, all := map[uint64]string{}, map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(v.tree)) {
		n := v.tree[p]
		if n.mode.IsDir() {
			continue
		}
		if _, ok := first[n.ino]; !ok {
			first[n.ino] = p
		}
		all[p] = first[n.ino]
	}
	return all
}

var flattenings = map[string]Flattening{"links": {}, "copies": {Copy: true}, "expanded": {Expand: true}, "expanded copies": {Expand: true, Copy: true}}

// A flattened stack shows what the stack did, and reads as it did.
func TestFlatten(t *testing.T) {
	for _, c := range slices.Concat(stacked, moved) {
		for how, fl := range flattenings {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				f := newFixture(t)
				shell(t, f.base, smallTree)
				f.build(t, c.do)
				before, layers := f.view(t), snapshotOf(f)
				flat := f.flat(t, fl)
				if why := flat.view(t).differs(before); why != "" {
					t.Fatal(why)
				}
				if !maps.Equal(snapshotOf(f), layers) {
					t.Error("the layers were changed")
				}
				if !fl.Expand {
					wantChanges(t, flat.source(), lines(changes(t, f.source()))...)
				} else if n := countMarks(t, flat.layers[0], "trusted.overlay.redirect"); n > 0 {
					t.Errorf("%d redirects are left", n)
				}
			})
		}
	}
}

// snapshotOf is what a box's layers consist of, overlayfs's marks included.
func snapshotOf(f fixture) map[string]string {
	all := map[string]string{}
	for _, dir := range append([]string{f.upper}, f.layers...) {
		for p, d := range detail(dir) {
			all[dir+p] = d
		}
	}
	return all
}

func countMarks(t testing.TB, dir, attr string) (n int) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if _, e := unix.Lgetxattr(path, attr, make([]byte, 256)); e == nil {
			n++
		}
		return err
	})
	return n
}

// Whatever was done and saved when, one layer shows the same, and so does a
// stack of which a few layers were made one.
func TestFlattenedStacksShowTheSame(t *testing.T) {
	for _, options := range overlays {
		t.Run(options, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				history(t, rt, options, func(f fixture, _, _ map[string]node, last bool) {
					if last {
						flattenAll(t, rt, f)
					}
				})
			})
		})
	}
}

func flattenAll(t testing.TB, rt *rapid.T, f fixture) {
	before, told := f.view(t), lines(changes(t, f.source()))
	how := rapid.SampledFrom(slices.Sorted(maps.Keys(flattenings))).Draw(rt, "how")
	flat := f.flat(t, flattenings[how])
	if why := flat.view(t).differs(before); why != "" {
		rt.Fatalf("%s, %d layers: %s", how, len(f.layers), why)
	}
	if got := lines(changes(t, flat.source())); !flattenings[how].Expand && !slices.Equal(got, told) {
		rt.Fatalf("%s: %v\nwas %v", how, got, told)
	}
	flattenSome(t, rt, f, before, told)
}

func flattenSome(t testing.TB, rt *rapid.T, f fixture, before view, told []string) {
	if len(f.layers) < 2 {
		return
	}
	from := rapid.IntRange(0, len(f.layers)-2).Draw(rt, "from")
	to := rapid.IntRange(from+2, len(f.layers)).Draw(rt, "to")
	one := f.flat(t, Flattening{Layers: f.layers[from:to]}).layers[0]
	f.layers = slices.Replace(slices.Clone(f.layers), from, to, one)
	if why := f.view(t).differs(before); why != "" {
		rt.Fatalf("layers %d to %d: %s", from, to, why)
	}
	if got := lines(changes(t, f.source())); !slices.Equal(got, told) {
		rt.Fatalf("%v\nwas %v", got, told)
	}
}

func TestFlattenKeepsWhatFilesAre(t *testing.T) {
	for how, fl := range flattenings {
		t.Run(how, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, "mkdir -p d/deep; truncate -s 1M d/hole; mkfifo d/fifo; echo x >d/deep/x; ln d/deep/x d/x; ln -s nowhere d/link; touch -d @1000 d/deep/x d/deep; chmod 4711 d/x")
			f.build(t, stages{
				"truncate -s 4M n; printf x | dd of=n bs=1 seek=3000000 conv=notrunc 2>/dev/null; ln n m; mv d z; mkfifo z/p; touch -d @2000 z",
				"mkdir 'a\nb'; echo x >'a\nb/\\'; chmod 2750 'a\nb'; chown 5:6 z/deep/x; touch -d @3000 'a\nb'"})
			inOverlay(t, f, "redirect_dir=on", func(m string) error {
				// A box in the box: overlayfs keeps its marks apart.
				return errors.Join(unix.Setxattr(m+"/z/deep", "trusted.overlay.opaque", []byte("y"), 0), unix.Setxattr(m+"/z/deep", "user.x", []byte("1"), 0))
			})
			before := f.view(t)
			flat := f.flat(t, fl)
			if why := flat.view(t).differs(before); why != "" {
				t.Fatal(why)
			}
			var st unix.Stat_t
			if err := unix.Lstat(flat.layers[0]+"/n", &st); err != nil || st.Blocks > 100 {
				t.Errorf("holes were filled: %d blocks, %v", st.Blocks, err)
			}
			if n := countMarks(t, flat.layers[0], "trusted.overlay.impure"); n > 0 {
				t.Errorf("%d directories have overlayfs's notes", n)
			}
		})
	}
}

// Moved directories are written out without the secrets in them.
func TestFlattenDoesNotTakeSecretsAlong(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, "mkdir -p u/.ssh u/sub; echo secret >u/.ssh/key; echo secret >u/.netrc; echo x >u/sub/x; chmod 600 u/.netrc; chmod 700 u/.ssh; ln -s .netrc u/.link")
	f.build(t, stages{"mv u v; mkdir v/.ssh/mine"})
	flat := f.flat(t, Flattening{Expand: true, Hidden: []string{"/u/.ssh", "/u/.netrc", "/u/.link"}})
	out := flat.layers[0]
	wantFile(t, out+"/v/.netrc", "")
	wantFile(t, out+"/v/sub/x", "x\n")
	for path, there := range map[string]bool{"/v/.ssh/key": false, "/v/.ssh/mine": true, "/v/.link": false} {
		if _, err := os.Lstat(out + path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// listing tells each path apart, in one order.
const listing = `find . -mindepth 1 | sort | while read -r p; do stat -c '%N %F %a %Y' "$p"; [ -L "$p" ] || [ ! -f "$p" ] || md5sum <"$p"; done`

func TestFlattenWithoutPrivileges(t *testing.T) {
	for _, c := range stacked {
		if strings.Contains(fmt.Sprint(c.do), "mknod") {
			continue // refused in a user namespace
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, smallTree)
			for i, script := range c.do {
				if i > 0 {
					f.snapshot(t)
				}
				rootless(t, f, script)
			}
			seen := func(f fixture, to string) string {
				name := filepath.Dir(f.base) + "/" + to
				rootless(t, f, listing+" >"+name)
				data, err := os.ReadFile(name)
				if err != nil || len(data) < 100 {
					t.Fatalf("nothing was seen: %q, %v", data, err)
				}
				return string(data)
			}
			before := seen(f, "before")
			for _, copied := range []bool{false, true} {
				flat := f.flat(t, Flattening{XattrPrefix: "user.overlay.", Copy: copied})
				if after := seen(flat, "after"); after != before {
					t.Errorf("copied %v: %s\nwas\n%s", copied, after, before)
				}
				wantChanges(t, flat.rootlessSource(), c.want...)
			}
		})
	}
}

// Whiteouts that attributes mark, as a layer from elsewhere may have them.
func TestFlattenMarkedWhiteouts(t *testing.T) {
	f, src := handmade(t)
	layer := filepath.Dir(f.base) + "/l0"
	for _, name := range []string{"d/gone", "d/kept", "d/back"} {
		write(t, "x", f.base, name)
	}
	write(t, "", layer, "d/gone")
	write(t, "", layer, "d/back")
	write(t, "back", f.upper, "d/back")
	setXattr(t, layer+"/d", "user.overlay.opaque", "x")
	setXattr(t, layer+"/d/gone", "user.overlay.whiteout", "y")
	setXattr(t, layer+"/d/back", "user.overlay.whiteout", "y")
	src.Uppers[0].Layers = []string{layer}
	f.layers = []string{layer}
	wantChanges(t, src, "modified file /d/back", "deleted file /d/gone")
	flat := f.flat(t, Flattening{XattrPrefix: "user.overlay."})
	wantChanges(t, flat.rootlessSource(), "modified file /d/back", "deleted file /d/gone")
}

func TestFlattenRefuses(t *testing.T) {
	f, _ := handmade(t)
	write(t, "x", f.upper, "f")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	full, empty := t.TempDir(), t.TempDir()
	write(t, "x", full, "x")
	fl := Flattening{Layers: []string{f.upper}, XattrPrefix: "user.overlay."}
	for want, try := range map[string]func() error{
		"not empty":        func() error { fl.Into = full; return Flatten(t.Context(), fl) },
		"no such file":     func() error { fl.Into = full + "/none"; return Flatten(t.Context(), fl) },
		"there are none":   func() error { return Flatten(t.Context(), Flattening{Into: empty}) },
		"context canceled": func() error { fl.Into = empty; return Flatten(cancelled, fl) },
		"metacopy": func() error {
			setXattr(t, f.upper+"/f", "user.overlay.metacopy", "")
			fl.Into = t.TempDir()
			return Flatten(t.Context(), fl)
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestEmpty(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []bool{true, false} {
		if got, err := Empty(dir); got != want || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		write(t, "", dir, ".x")
	}
	if got, err := Empty(dir + "/none"); !got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Empty(dir + "/.x"); err == nil || forkbox.CodeOf(err) != forkbox.Internal {
		t.Errorf("a file: %v", err)
	}
}

// Where files cannot be linked they are copied.
func TestFlattenToAnotherFilesystem(t *testing.T) {
	into, err := os.MkdirTemp("/dev/shm", "flatten")
	if err != nil {
		t.Skipf("no second filesystem: %v", err)
	}
	defer os.RemoveAll(into)
	f, src := handmade(t)
	write(t, "x", f.base, "d/x")
	write(t, "new", f.upper, "d/x")
	os.Link(f.upper+"/d/x", f.upper+"/y")
	os.Symlink("x", f.upper+"/l")
	want := lines(changes(t, src))
	if err := Flatten(t.Context(), Flattening{Layers: []string{f.upper}, Into: into, XattrPrefix: "user.overlay."}); err != nil {
		t.Fatal(err)
	}
	src.Uppers[0].Dir = into
	wantChanges(t, src, want...)
	if len(want) != 3 {
		t.Errorf("%q", want)
	}
}

// Directories nested deeper than any path can say.
func TestFlattenDeepNesting(t *testing.T) {
	f, src := handmade(t)
	layer := filepath.Dir(f.base) + "/l0"
	for _, dir := range []string{f.upper, layer} {
		os.MkdirAll(dir, 0o755)
		nest(t, dir, 600)
	}
	src.Uppers[0].Layers = []string{layer}
	if n := len(changes(t, src)); n != 600 {
		t.Errorf("%d changes", n)
	}
	into := filepath.Dir(f.base) + "/into"
	os.Mkdir(into, 0o755)
	if err := Flatten(t.Context(), Flattening{Layers: []string{f.upper, layer}, Into: into, XattrPrefix: "user.overlay.", Copy: true}); err != nil {
		t.Fatal(err)
	}
	src.Uppers[0] = Upper{Mount: "/", Dir: into}
	if n := len(changes(t, src)); n != 600 {
		t.Errorf("%d changes", n)
	}
}

// nest makes directories in one another, with names that exceed every path.
func nest(t testing.TB, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 200)
	for range depth {
		if err := unix.Mkdirat(fd, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := openPath(fd, name)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
}
