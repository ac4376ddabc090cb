package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// onOverlayfs: the kernel shows a layer, and a box that begins with it, as it
// shows the box that was saved.
func onOverlayfs(t *testing.T, p place) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	s := p.open(t)
	base := realBase(t)
	must(t, s.Create(t.Context(), "b"))
	inPrivateMounts(t, func() error {
		show := func(id string, change func(root string)) (seen map[string]string) {
			merged := t.TempDir()
			must(t, mountBox(t, s, id, base, merged))
			change(merged)
			return fingerprint(t, merged)
		}
		want := show("b", func(root string) { messUp(t, root) })
		_, err := s.Save(t.Context(), "b", "L", false) // it is still mounted
		must(t, err)
		must(t, s.Create(t.Context(), "child"))
		must(t, s.Clone(t.Context(), "L", "child"))
		sameTree(t, "the child", want, show("child", func(string) {}))
		stack := t.TempDir()
		must(t, unix.Mount("overlay", stack, "overlay", 0, fmt.Sprintf("redirect_dir=on,index=off,metacopy=off,lowerdir=%s/-:%s", s.Layer("L"), base)))
		sameTree(t, "the layer over the base", want, fingerprint(t, stack))
		return nil
	})
}

func mountBox(t *testing.T, s *Store, id, base, merged string) error {
	upper, _, err := s.NewUpper(id, "/")
	must(t, err)
	work, err := s.FreshWork(t.Context(), id, "/")
	must(t, err)
	return unix.Mount("overlay", merged, "overlay", 0,
		fmt.Sprintf("redirect_dir=on,index=off,metacopy=off,lowerdir=%s,upperdir=%s,workdir=%s", base, upper, work))
}

func realBase(t *testing.T) string {
	base := t.TempDir()
	for _, dir := range []string{"moved/inside", "replaced", "kept", "gone"} {
		must(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
		write(t, filepath.Join(base, dir, "f"), dir)
	}
	write(t, filepath.Join(base, "deleted"), "deleted")
	write(t, filepath.Join(base, "edited"), "edited")
	must(t, os.Link(filepath.Join(base, "edited"), filepath.Join(base, "kept", "edited too")))
	return base
}

// messUp has overlayfs leave every mark that it has: whiteouts, opaque
// directories, redirects, copied files.
func messUp(t *testing.T, root string) {
	at := func(path string) string { return filepath.Join(root, path) }
	must(t, os.Remove(at("deleted")))
	must(t, os.RemoveAll(at("gone")))
	must(t, os.Rename(at("moved"), at("kept/was moved")))
	must(t, os.RemoveAll(at("replaced")))
	must(t, os.Mkdir(at("replaced"), 0o750))
	write(t, at("replaced/new"), "new")
	write(t, at("edited"), "edited in the box")
	must(t, os.Link(at("replaced/new"), at("new too")))
	must(t, os.Symlink("edited", at("symlink")))
	must(t, os.Chmod(at("kept/f"), 0o4711))
}

// A full disk leaves no half layer, and the box as it was.
func TestSaveOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	inPrivateMounts(t, func() error {
		dir := t.TempDir()
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
		s := place{dir, "copy"}.open(t)
		must(t, os.WriteFile(filepath.Join(newBox(t, s, "b"), "f"), make([]byte, 700<<10), 0o600))
		want := fingerprint(t, s.Upper("b"))
		if _, err := s.Save(t.Context(), "b", "L", true); err == nil || s.HasLayer("L") {
			t.Errorf("Save = %v", err)
		}
		wantWhole(t, s)
		sameTree(t, "the box", want, fingerprint(t, s.Upper("b")))
		return nil
	})
}
