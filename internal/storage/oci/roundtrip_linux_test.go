package oci

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func TestLayerComesBackAsItWas(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	kitchen(t, src)
	l, blob := packed(t, []Tree{{"/", src}}, Options{XattrPrefix: prefix()})
	out, err := UnpackLayer(context.Background(), l, into(dst), Form{XattrPrefix: prefix()})
	check(t, err)
	if out.Left != (Left{}) {
		t.Errorf("left out %+v", out.Left)
	}
	sameTree(t, dst, src)
	_, again := packed(t, []Tree{{"/", dst}}, Options{XattrPrefix: prefix()})
	if again.Descriptor.Digest != blob.Descriptor.Digest {
		t.Errorf("packed again it is another blob")
	}
	var st unix.Stat_t
	check(t, unix.Stat(dst+"/sparse", &st))
	if st.Blocks*512 > 1<<20 {
		t.Errorf("a sparse file takes %d bytes", st.Blocks*512)
	}
}

// What lay on one filesystem there lies on two here, and the other way round.
func TestLayerIsSpreadOverOtherFilesystems(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/etc/a", "1", 0o644)
	write(t, root+"/home/u/b", "2", 0o600)
	check(t, os.Link(root+"/home/u/b", root+"/etc/linked"))
	mkdir(t, root+"/home", 0o711)
	l, blob := packed(t, []Tree{{"/", root}}, Options{XattrPrefix: prefix()})
	here, hereHome := t.TempDir(), t.TempDir()
	place := func(path string) (string, string, error) {
		switch {
		case path == "/home":
			return hereHome, "", nil
		case strings.HasPrefix(path, "/home/"):
			return hereHome, path[len("/home/"):], nil
		}
		return here, path[1:], nil
	}
	_, err := UnpackLayer(context.Background(), l, place, Form{XattrPrefix: prefix()})
	check(t, err)
	if info, err := os.Stat(hereHome); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the mount's root is %v, %v", info.Mode(), err)
	}
	_, back := packed(t, []Tree{{"/", here}, {"/home", hereHome}}, Options{XattrPrefix: prefix()})
	if back.DiffID != blob.DiffID {
		sameTree(t, hereHome, root+"/home")
		t.Errorf("the layer became another by being spread")
	}
}

// A directory that is only on the way gets the looks of the machine's.
func TestParentsThatTheLayerDoesNotName(t *testing.T) {
	data := t.TempDir()
	write(t, data+"/f", "x", 0o644)
	l, _ := packed(t, []Tree{{"/srv/data", data}}, Options{XattrPrefix: prefix()})
	dst := t.TempDir()
	form := Form{XattrPrefix: prefix(), Parent: func(path string) (forkbox.Node, error) {
		if path != "/srv" {
			t.Errorf("asked for %q", path)
		}
		return forkbox.Node{Mode: os.ModeDir | os.ModeSticky | 0o751, UID: os.Getuid(), GID: os.Getgid(), ModTime: then}, nil
	}}
	_, err := UnpackLayer(context.Background(), l, into(dst), form)
	check(t, err)
	info, err := os.Stat(dst + "/srv")
	check(t, err)
	if info.Mode() != os.ModeDir|os.ModeSticky|0o751 || !info.ModTime().Equal(then) {
		t.Errorf("it is %v %v", info.Mode(), info.ModTime())
	}
}

func TestPathsThatAreNotWantedAreLeftOut(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	write(t, src+"/run/pid", "1", 0o644)
	write(t, src+"/etc/a", "1", 0o644)
	l, _ := packed(t, []Tree{{"/", src}}, Options{XattrPrefix: prefix()})
	out, err := UnpackLayer(context.Background(), l, func(path string) (string, string, error) {
		if path == "/run" || strings.HasPrefix(path, "/run/") {
			return "", "", ErrLeaveOut
		}
		return dst, path[1:], nil
	}, Form{XattrPrefix: prefix()})
	check(t, err)
	if out.Left.Paths != 2 || len(namesBelow(t, dst)) != 2 {
		t.Errorf("%+v, %q", out, namesBelow(t, dst))
	}
}

// An opaque directory, with something mounted in it here, and a mount's root
// that is opaque itself.
func TestOpaqueBesideMounts(t *testing.T) {
	here, inner := t.TempDir(), t.TempDir()
	place := func(path string) (string, string, error) {
		if rest, ok := strings.CutPrefix(path, "/srv/x"); ok {
			return inner, strings.TrimPrefix(rest, "/"), nil
		}
		return here, path[1:], nil
	}
	mark := " " + prefix() + `opaque="y"`
	_, err := UnpackLayer(context.Background(), tarLayer(t, file("srv/.wh..wh..opq", "")), place, Form{XattrPrefix: prefix()})
	check(t, err)
	if xattrsOf(t, here+"/srv") != mark || xattrsOf(t, inner) != "" {
		t.Errorf("outer%s, inner%s", xattrsOf(t, here+"/srv"), xattrsOf(t, inner))
	}
	_, err = UnpackLayer(context.Background(), tarLayer(t, file("srv/x/.wh..wh..opq", "")), place, Form{XattrPrefix: prefix()})
	check(t, err)
	if xattrsOf(t, inner) != mark {
		t.Errorf("inner%s", xattrsOf(t, inner))
	}
}

func TestDeletedMountPointIsRefused(t *testing.T) {
	l := tarLayer(t, file(".wh.home", ""))
	dst := t.TempDir()
	_, err := UnpackLayer(context.Background(), l, func(string) (string, string, error) { return dst, "", nil }, Form{XattrPrefix: prefix()})
	wantError(t, err, forkbox.Unsupported, `"/home" was deleted there`)
}

// A user without rights brings an image to a daemon with all rights.
func TestOwnerGetsNoRightsFromAnImage(t *testing.T) {
	src := t.TempDir()
	kitchen(t, src)
	l, _ := packed(t, []Tree{{"/", src}}, Options{XattrPrefix: prefix()})
	owner := &forkbox.Owner{UID: 4321, GID: 1234}
	root, layer := t.TempDir(), t.TempDir()
	_, err := UnpackRoot(context.Background(), root, []Layer{l}, Form{Owner: owner})
	check(t, err)
	_, err = UnpackLayer(context.Background(), l, into(layer), Form{Owner: owner, XattrPrefix: prefix()})
	check(t, err)
	for _, dir := range []string{root, layer} {
		for _, name := range namesBelow(t, dir) {
			noRights(t, filepath.Join(dir, name), owner)
		}
	}
}

func noRights(t *testing.T, path string, owner *forkbox.Owner) {
	var st unix.Stat_t
	check(t, unix.Lstat(path, &st))
	if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0 {
		return // a whiteout
	}
	if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		t.Errorf("%s has mode %o", path, st.Mode)
	}
	if isRoot() && (int(st.Uid) != owner.UID || int(st.Gid) != owner.GID) {
		t.Errorf("%s is owned by %d:%d", path, st.Uid, st.Gid)
	}
	if text := xattrsOf(t, path); strings.Contains(text, capability) || strings.Contains(text, "trusted.mine") {
		t.Errorf("%s has %s", path, text)
	}
}

func TestRootKeepsRights(t *testing.T) {
	needRoot(t)
	src, dst := t.TempDir(), t.TempDir()
	kitchenOfRoot(t, prepared(t, src))
	l, _ := packed(t, []Tree{{"/", src}}, Options{})
	_, err := UnpackRoot(context.Background(), dst, []Layer{l}, Form{})
	check(t, err)
	sameTree(t, dst, src)
	if info, err := os.Stat(dst + "/bin/su"); err != nil || info.Mode()&os.ModeSetuid == 0 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// prepared has the names that kitchenOfRoot changes.
func prepared(t testing.TB, dir string) string {
	check(t, os.Symlink("/etc/passwd", dir+"/abs"))
	write(t, dir+"/etc/plain", "hello", 0o640)
	return dir
}
