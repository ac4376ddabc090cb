package review

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stat is a file of reality as a node.
func stat(t *testing.T, path string) forkbox.Node {
	t.Helper()
	var st unix.Stat_t
	info, err := os.Lstat(path)
	if err == nil {
		err = unix.Lstat(path, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return forkbox.Node{Mode: info.Mode(), ModTime: info.ModTime(), UID: int(st.Uid), GID: int(st.Gid),
		Identity: forkbox.Identity{Ino: st.Ino, Ctime: st.Ctim.Nano(), Size: st.Size}}
}

// viewOf is a view of a real workspace, forked when its newest file was made.
func viewOf(t *testing.T, root string, fence time.Time) *View {
	v := newView(nil)
	v.Root, v.Box.Base.Fence = root, fence
	v.Sorter = scope.New(root, "/home/ada", ReadIgnore)
	return v
}

func TestMovedFindsWhatRealityChanged(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/old", "")
	write(t, root+"/.gitignore", "noise\n")
	fence := time.Unix(0, stat(t, root+"/.gitignore").Ctime+1)
	for stat(t, root+"/old").Ctime < fence.UnixNano() { // the clock of the filesystem goes in steps
		os.Chmod(root+"/old", 0o600)
	}
	for _, name := range []string{"new", "sub/new\nline", "noise", ".git/index", ".forkbox-x/slot", "dir\xff/f"} {
		write(t, root+"/"+name, "")
	}
	os.Symlink("/", root+"/link")
	v := viewOf(t, root, fence)
	v.Marks = marksOf(map[string]Mark{root + "/new": {Reality: stat(t, root+"/new").Identity}})
	var got []string
	err := v.Moved(t.Context(), func(path string) error {
		got = append(got, strings.TrimPrefix(path, root+"/"))
		return nil
	})
	if want := []string{"dir\xff/f", "link", "old", "sub/new\nline"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

// Where a directory was put in the place of another, its files keep their
// times, and are not what the box began from all the same.
func TestFilesInADirectoryThatRealityMovedHaveDrifted(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/old/sub/f", "old")
	write(t, root+"/d/sub/f", "new")
	write(t, root+"/d/other", "")
	fence := time.Unix(0, stat(t, root+"/d").Ctime+1)
	entry := func() *Entry {
		e := change(t, forkbox.Modified, "old", "new", 0)
		n := stat(t, root+"/d/sub/f")
		e.Path, e.sides().old = root+"/d/sub/f", &n
		return e
	}
	if viewOf(t, root, fence).drifted(entry()) {
		t.Fatal("it has not")
	}
	for stat(t, root+"/d").Ctime < fence.UnixNano() {
		os.Rename(root+"/d", root+"/x")
		os.Rename(root+"/x", root+"/d")
	}
	if !viewOf(t, root, fence).drifted(entry()) {
		t.Error("it has")
	}
	if viewOf(t, root, fence).wayMoved(root) {
		t.Error("the directory above only has other entries")
	}
}

func TestHardLinksToWhatDoesNotLand(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/other", "new")
	for _, c := range []struct {
		name, text string
		mode       fs.FileMode
		kind       forkbox.Kind
		want       string
	}{
		{"the same is there", "new", 0o644, forkbox.Added, "link"},
		{"another content is there", "own", 0o644, forkbox.Added, "copy"},
		{"another mode is there", "new", 0o600, forkbox.Added, "copy"},
		{"nothing but a link", "own", 0o644, forkbox.Linked, "left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, c.kind, "-", c.text, before)
			e.Link, e.sides().new.Mode, e.sides().new.Nlink = dir+"/other", c.mode, 2
			words, _, step := planned(t, newView(nil), forkbox.ApplySpec{}, e)
			got := words
			if len(step.Items) == 1 {
				got = map[bool]string{true: "link", false: "copy"}[step.Items[0].Link != ""]
			}
			if got != c.want {
				t.Errorf("got %s", words)
			}
		})
	}
}

func TestHardLinksToWhatLandsAsWell(t *testing.T) {
	p := &Plan{View: newView(nil), Chosen: Choose(forkbox.Selection{}, nil, newSorter(nil))}
	first, second := change(t, forkbox.Added, "-", "x", 0), change(t, forkbox.Added, "-", "x", 0)
	second.Path, second.Link = "/w/g", "/w/f"
	for _, e := range []*Entry{first, second} {
		e.sides().new.Nlink = 2
		step, err := p.Next(t.Context(), e)
		if err != nil || len(step.Items) != 1 || step.Items[0].Link != e.Link {
			t.Errorf("%+v, %v", step, err)
		}
	}
}

func TestPatchesOfDirectories(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/d/a", "a\n")
	write(t, root+"/d/sub/b", "b\n")
	below := []inside{in(root+"/d/a", ptr(stat(t, root+"/d/a"))), kept(root + "/d/k"), in(root+"/d/sub", ptr(stat(t, root+"/d/sub"))), in(root+"/d/sub/b", ptr(stat(t, root+"/d/sub/b")))}
	e := lost(t, forkbox.Deleted, below...)
	e.Path = root + "/d"
	got := described(t, newView(nil), e, root)
	for _, want := range []string{"deleted file mode", "a/d/a", "-a\n", "a/d/sub/b", "-b\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if e.Minus != 2 || strings.Contains(got, "d/k") {
		t.Errorf("%+v", e.Change)
	}
}

// The path that a box has a file at can be another file's in reality.
func TestAPatchNeverShowsAnotherFile(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/d/a", "somebody else's\n")
	n := stat(t, root+"/d/a")
	n.Ino++
	e := lost(t, forkbox.Deleted, in(root+"/d/a", &n))
	if got := described(t, newView(nil), e, root); strings.Contains(got, "somebody") {
		t.Error(got)
	}
}

func ptr(n forkbox.Node) *forkbox.Node { return &n }
