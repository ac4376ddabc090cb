package change

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// fixture is a machine of one filesystem, and a box of it.
type fixture struct {
	base, upper, work, merged string
	layers                    []string // of snapshots, the topmost first
	veil                      string   // if set, an overlay of this and the base is what the box lies over
}

// lower is what is below the upper, as mount options say it.
func (f fixture) lower() string {
	base := f.base
	if f.veil != "" {
		base = f.veil + "-base"
	}
	return strings.Join(append(slices.Clone(f.layers), base), ":")
}

// veiled is a box as boxes of reality are mounted: an overlay over an overlay.
func (f fixture) veiled(t testing.TB) fixture {
	t.Helper()
	f.veil = filepath.Dir(f.base) + "/veil"
	for _, dir := range []string{f.veil, f.veil + "-base"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	// Not t.TempDir: it has the test's name in it, and a comma in a path is
	// more than mount options can say.
	root, err := os.MkdirTemp("", "change")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Chmod(root+"/work/work", 0o700) // overlayfs made it without permissions
		os.RemoveAll(root)
	})
	f := fixture{base: root + "/base", upper: root + "/upper", work: root + "/work", merged: root + "/merged"}
	for _, dir := range []string{f.base, f.upper, f.work, f.merged} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f fixture) source() Source {
	return Source{Uppers: []Upper{{Mount: "/", Dir: f.upper, Layers: f.layers}}, Base: f.base, XattrPrefix: "trusted.overlay."}
}

// changes reads them all and checks that they are sorted.
func changes(t testing.TB, src Source) []forkbox.Change {
	t.Helper()
	var all []forkbox.Change
	err := Read(t.Context(), src, func(c forkbox.Change, _ forkbox.Sides) error {
		if n := len(all); n > 0 && forkbox.ComparePaths(all[n-1].Path, c.Path) > 0 {
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

// lines is how tests write changes down.
func lines(cs []forkbox.Change) []string {
	out := []string{}
	for _, c := range cs {
		s := fmt.Sprintf("%s %s %s", c.Kind, c.Type, c.Path)
		if c.From != "" {
			s += " from " + c.From
		}
		if c.Entries > 0 {
			s += fmt.Sprintf(" +%d", c.Entries)
		}
		if c.Hidden {
			s += " hidden"
		}
		if c.Link != "" {
			s += " = " + c.Link
		}
		if len(c.Attrs) > 0 {
			s += " (" + strings.Join(c.Attrs, " ") + ")"
		}
		out = append(out, s)
	}
	return out
}

// inOverlay runs fn with a real overlay mounted, in a mount namespace that
// ends with it. It needs root.
func inOverlay(t testing.TB, f fixture, options string, fn func(merged string) error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting without a user namespace needs root")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread must not be reused
		err := mountOverlay(f, options)
		if err == nil {
			err = fn(f.merged)
			unix.Unmount(f.merged, unix.MNT_DETACH)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func mountOverlay(f fixture, options string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if f.veil != "" {
		if err := unix.Mount("overlay", f.veil+"-base", "overlay", unix.MS_RDONLY, "lowerdir="+f.veil+":"+f.base); err != nil {
			return err
		}
	}
	if err := linux.WithoutHandles(); err != nil { // as boxes are mounted
		return err
	}
	opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,%s", f.lower(), f.upper, f.work, options)
	return unix.Mount("overlay", f.merged, "overlay", 0, opts)
}

// shell runs a script in dir.
func shell(t testing.TB, dir, script string) {
	t.Helper()
	if err := run(dir, script); err != nil {
		t.Fatal(err)
	}
}

func run(dir, script string) error {
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, out)
	}
	return nil
}

// rootless runs a script on an overlay in a user namespace, as an
// unprivileged box does.
func rootless(t testing.TB, f fixture, script string) {
	t.Helper()
	// Exit before the script when the mount fails: it deletes things.
	mount := fmt.Sprintf("mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s,userxattr %s || exit 99\ncd %s || exit 99\n", f.lower(), f.upper, f.work, f.merged, f.merged)
	cmd := exec.Command("sh", "-ec", mount+script)
	cmd.Dir = f.merged
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 99:
		t.Skipf("no overlay in a user namespace here: %v: %s", err, out)
	case err != nil:
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

func write(t testing.TB, data string, parts ...string) {
	t.Helper()
	name := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
