//go:build linux

package native

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/oci"
)

var nobody = forkbox.Owner{UID: 65534, GID: 65534, Name: "nobody", Home: "/nonexistent"}

func rootOnly(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it is about what a daemon of root does for others")
	}
}

// evil is an archive of changes to a machine: the doors of root's home are
// open, and su is told to let every user in.
func evil(t *testing.T) *bytes.Buffer {
	t.Helper()
	tree := t.TempDir()
	must(t, os.MkdirAll(tree+"/etc/pam.d", 0o755))
	must(t, os.WriteFile(tree+"/etc/pam.d/su", []byte("auth sufficient pam_permit.so\n"), 0o644))
	must(t, os.Mkdir(tree+"/root", 0o777))
	must(t, os.Chmod(tree+"/root", 0o777))
	must(t, os.WriteFile(tree+"/root/program", nil, 0o755))
	must(t, os.Chmod(tree+"/root/program", 0o755|os.ModeSetuid))
	var archive bytes.Buffer
	_, err := oci.Export(t.Context(), &archive, oci.Exporting{
		Spool:  t.TempDir(),
		Layers: []oci.Stratum{{Trees: []oci.Tree{{Mount: "/", Dir: tree}}}},
		Image:  oci.Image{Base: forkbox.Reality},
	})
	must(t, err)
	return &archive
}

// TestPromise5ImportGivesNoRights: what a user other than root brings opens no
// directory to them, is theirs, and makes no program of root's theirs.
func TestPromise5ImportGivesNoRights(t *testing.T) {
	rootOnly(t)
	p := testProvider(t)
	a, err := p.ReadImage(t.Context(), nobody, evil(t), func() string { return "evil" })
	must(t, err)
	t.Cleanup(func() { must(t, p.RemoveLayer(context.Background(), "evil")) })
	dir := filepath.Join(p.store.Layer("evil"), "-")
	real, err := os.Stat("/root")
	must(t, err)
	got, err := os.Stat(dir + "/root")
	must(t, err)
	if uid, _ := ownerOf(got); got.Mode() != real.Mode() || uid != 0 {
		t.Errorf("/root is %v of %d in the box", got.Mode(), uid)
	}
	program, err := os.Stat(dir + "/root/program")
	must(t, err)
	if uid, _ := ownerOf(program); program.Mode()&os.ModeSetuid != 0 || uid != nobody.UID {
		t.Errorf("the program is %v of %d", program.Mode(), uid)
	}
	if !a.Base.Foreign {
		t.Fatal("it is taken for root's own")
	}
	plan, err := p.builder.outline(forkbox.Box{Owner: nobody, Base: a.Base, Layers: a.Layers, Net: forkbox.NetNone})
	must(t, err)
	for _, v := range plan.views {
		if v.Attr&unix.MOUNT_ATTR_NOSUID == 0 {
			t.Errorf("programs on %s get their owner's rights", v.Path)
		}
	}
}

// TestPromise5DirectoryIsEnteredEachTime: a directory that a user named can be
// exchanged for another that they may not look into.
func TestPromise5DirectoryIsEnteredEachTime(t *testing.T) {
	rootOnly(t)
	p := testProvider(t)
	open, closed := t.TempDir(), t.TempDir()
	for dir := open; dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.MkdirAll(open+"/u/base", 0o755))
	must(t, os.Mkdir(closed+"/base", 0o755))
	must(t, os.Chmod(closed, 0o700))
	base, err := p.CheckDir(open+"/u/base", nobody)
	must(t, err)
	box := forkbox.Box{Owner: nobody, Base: base}
	_, done, err := p.scenery.openBase(box)
	must(t, err)
	done()
	must(t, os.Rename(open+"/u", open+"/old"))
	must(t, os.Symlink(closed, open+"/u"))
	if _, _, err := p.scenery.openBase(box); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("by way of a link: %v", err)
	}
	must(t, os.Remove(open+"/u"))
	must(t, os.Rename(closed, open+"/u"))
	if _, _, err := p.scenery.openBase(box); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("a directory of root's: %v", err)
	}
	for _, dir := range []string{"/root/nothing", "/root", open + "/u/base", open + "/u/nothing"} {
		if _, err := p.CheckDir(dir, nobody); forkbox.CodeOf(err) != forkbox.Denied {
			t.Errorf("%s: %v", dir, err)
		}
	}
	must(t, os.Mkdir(closed, 0o700)) // for the test's own removal
}
