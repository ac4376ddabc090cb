package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// overlay mounts upper over lowers, the topmost first, as boxes are mounted,
// but for redirects, which an image cannot express.
func overlay(t testing.TB, at, upper, work string, lowers []string) {
	t.Helper()
	fd, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	check(t, err)
	defer unix.Close(fd)
	for _, l := range lowers {
		check(t, unix.FsconfigSetString(fd, "lowerdir+", l))
	}
	check(t, unix.FsconfigSetString(fd, "upperdir", upper))
	check(t, unix.FsconfigSetString(fd, "workdir", work))
	for _, o := range []string{"redirect_dir", "metacopy", "index"} {
		check(t, unix.FsconfigSetString(fd, o, "off"))
	}
	check(t, unix.FsconfigCreate(fd))
	m, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, 0)
	check(t, err)
	defer unix.Close(m)
	check(t, unix.MoveMount(m, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// inOverlay does something in a mounted stack. A draw that ends the test early
// leaves no mount.
func inOverlay(t testing.TB, at, upper, work string, lowers []string, do func()) {
	t.Helper()
	overlay(t, at, upper, work, lowers)
	defer func() { check(t, unmount(at)) }()
	do()
}

// unmount waits until no other process has a foot in the mount: the tests of
// other packages look at what is mounted on the host.
func unmount(at string) (err error) {
	for range 1000 {
		if err = unix.Unmount(at, 0); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = unix.Unmount(at, unix.MNT_DETACH) // in reality there is none left of it
	return err
}

// act does something to a tree; that it may be impossible does not matter.
func act(t *rapid.T, root string) {
	names := []string{"a", "b", "c/a", "c/b", "c/d/a", "c/d/e/f", "g", "c", "c/d"}
	path := filepath.Join(root, rapid.SampledFrom(names).Draw(t, "path"))
	other := filepath.Join(root, rapid.SampledFrom(names).Draw(t, "other"))
	switch rapid.IntRange(0, 9).Draw(t, "act") {
	case 0, 1:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "content"), 0o644)
	case 2:
		_ = os.RemoveAll(path)
	case 3:
		_ = os.MkdirAll(path, 0o755)
	case 4:
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(path, 0o711) // opaque
	case 5:
		_ = os.Symlink("a", path)
	case 6:
		_ = os.Link(path, other)
	case 7:
		_ = os.Rename(path, other)
	case 8:
		_ = os.Lchown(path, rapid.IntRange(0, 9).Draw(t, "uid"), 5)
	case 9:
		_ = unix.Lsetxattr(path, "user.x", []byte("y"), 0)
	}
}

// A stack of layers that overlayfs wrote, packed and unpacked as an image, is
// what overlayfs shows; and each layer unpacked as a layer shows the same
// again.
func TestImageIsWhatOverlayfsShows(t *testing.T) {
	needRoot(t)
	top := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		dir := filepath.Join(top, fmt.Sprint(round))
		view := dir + "/view"
		for _, d := range []string{"base", "view"} {
			check(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
		}
		for range rapid.IntRange(0, 12).Draw(rt, "in the base") {
			act(rt, dir+"/base")
		}
		stack := []string{dir + "/base"} // the topmost first
		for i := range rapid.IntRange(1, 4).Draw(rt, "layers") {
			layer := fmt.Sprintf("%s/layer%d", dir, i)
			check(t, os.MkdirAll(layer+"/upper", 0o755))
			check(t, os.MkdirAll(layer+"/work", 0o755))
			inOverlay(t, view, layer+"/upper", layer+"/work", stack, func() {
				for range rapid.IntRange(1, 10).Draw(rt, "acts") {
					act(rt, view)
				}
			})
			stack = slices.Insert(stack, 0, layer+"/upper")
		}
		compareWithOverlay(t, dir, stack)
		check(t, os.RemoveAll(dir))
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// compareWithOverlay packs the stack, the base as a plain directory.
func compareWithOverlay(t *testing.T, dir string, stack []string) {
	t.Helper()
	var layers []Layer
	again := []string{}
	for i, upper := range slices.Backward(stack) {
		o := Options{XattrPrefix: prefix()}
		if i == len(stack)-1 {
			o.XattrPrefix = ""
		}
		l, _ := packed(t, []Tree{{"/", upper}}, o)
		layers = append(layers, l)
		if o.XattrPrefix != "" {
			copied := fmt.Sprintf("%s/again%d", dir, i)
			check(t, os.MkdirAll(copied, 0o755))
			_, err := UnpackLayer(context.Background(), l, into(copied), Form{XattrPrefix: prefix()})
			check(t, err)
			again = slices.Insert(again, 0, copied)
		}
	}
	want := shown(t, dir, stack)
	root := dir + "/root"
	check(t, os.MkdirAll(root, 0o755))
	_, err := UnpackRoot(context.Background(), root, layers, Form{})
	check(t, err)
	sameLines(t, describeTree(t, root), want)
	sameLines(t, shown(t, dir, append(again, stack[len(stack)-1])), want)
}

// shown is what overlayfs makes of a stack.
func shown(t *testing.T, dir string, stack []string) (lines []string) {
	t.Helper()
	for _, d := range []string{"/upper", "/work"} {
		check(t, os.RemoveAll(dir+d))
		check(t, os.MkdirAll(dir+d, 0o755))
	}
	inOverlay(t, dir+"/view", dir+"/upper", dir+"/work", stack, func() { lines = describeTree(t, dir+"/view") })
	return lines
}

// A whiteout in a directory that no layer below has is no file either.
func TestWhiteoutOfNothingIsNotListed(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	layer, base := dir+"/layer", dir+"/base"
	for _, d := range []string{layer, base, dir + "/view"} {
		check(t, os.Mkdir(d, 0o755))
	}
	_, err := UnpackLayer(context.Background(), tarLayer(t, file("d/.wh.gone", ""), file("d/kept", "")), into(layer), Form{XattrPrefix: prefix()})
	check(t, err)
	if got := shown(t, dir, []string{layer, base}); len(got) != 2 {
		t.Errorf("the box shows %q", got)
	}
}
