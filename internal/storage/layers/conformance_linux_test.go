package layers

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/quota"
)

// place is a directory that stores are made in, and the driver they get.
type place struct {
	dir, driver string
}

func (p place) open(t tester) *Store {
	t.Helper()
	home, err := os.MkdirTemp(p.dir, "home-")
	must(t, err)
	return p.reopen(t, home)
}

func (p place) reopen(t tester, home string) *Store {
	t.Helper()
	s, err := OpenWith(home, p.driver)
	must(t, err)
	return s
}

// suite is what every driver has to pass.
var suite = map[string]func(*testing.T, place){
	"Faithful":          faithful,
	"LayersDoNotChange": layersDoNotChange,
	"SaveAgain":         saveAgain,
	"SaveNothing":       saveNothing,
	"Refused":           refused,
	"Deep":              deepTree,
	"ManyLinks":         manyLinks,
	"AccessTime":        accessTime,
	"Sparse":            sparseFiles,
	"Locked":            lockedFiles,
	"PlainTop":          plainTop,
	"Shelve":            shelved,
	"Cancelled":         cancelled,
	"Killed":            killed,
	"Removal":           removal,
	"Usage":             usageOfStore,
	"Bin":               binOfBox,
	"Automatic":         automatic,
	"Overlayfs":         onOverlayfs,
}

// TestConformance runs the suite for each driver on the filesystems that it
// is for.
func TestConformance(t *testing.T) {
	if dir := os.Getenv("LAYERS_TEST_DIR"); dir != "" { // see asNobody
		conform(t, place{dir, os.Getenv("LAYERS_TEST_DRIVER")})
		return
	}
	for _, driver := range []string{"overlay", "copy"} {
		t.Run(driver, func(t *testing.T) { conform(t, place{temp(t), driver}) })
	}
	t.Run("xfs", func(t *testing.T) {
		onFilesystem(t, "xfs", func(mnt string) { everybody(t, mnt, "reflink", "overlay") }, "-q", "-m", "reflink=1")
	})
	t.Run("btrfs", func(t *testing.T) {
		onFilesystem(t, "btrfs", func(mnt string) {
			everybody(t, mnt, "btrfs", "reflink", "overlay")
			wantNoSubvolumes(t, mnt)
		}, "-q")
	})
	t.Run("btrfs-quotas", func(t *testing.T) {
		onFilesystem(t, "btrfs", func(mnt string) {
			_, err := quota.Enable(t.Context(), mnt)
			must(t, err)
			everybody(t, mnt, "btrfs")
			wantNoSubvolumes(t, mnt)
		}, "-q")
	})
}

// everybody runs the suite as root and as another user.
func everybody(t *testing.T, mnt string, drivers ...string) {
	for _, driver := range drivers {
		dir := filepath.Join(mnt, driver)
		must(t, os.Mkdir(dir, 0o755))
		t.Run(driver, func(t *testing.T) { conform(t, place{dir, driver}) })
		theirs := filepath.Join(mnt, driver+"-unprivileged")
		must(t, os.Mkdir(theirs, 0o755))
		must(t, os.Chown(theirs, nobody, nobody))
		t.Run(driver+"-unprivileged", func(t *testing.T) { asNobody(t, place{theirs, driver}) })
	}
}

func conform(t *testing.T, p place) {
	for _, name := range slices.Sorted(maps.Keys(suite)) {
		t.Run(name, func(t *testing.T) { suite[name](t, p) })
	}
	entries, err := os.ReadDir(p.dir)
	must(t, err)
	for _, e := range entries { // stores that their tests have emptied, as far as they did
		must(t, removeTree(context.Background(), p.dir, e.Name()))
	}
}

const nobody = 65534

// asNobody runs the suite in a process without privileges, where only root can
// mount the filesystem.
func asNobody(t *testing.T, p place) {
	binary := filepath.Join(p.dir, "..", filepath.Base(p.dir)+".test")
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(binary, self, 0o755))
	defer os.Remove(binary)
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestConformance$", "-test.v", "-test.timeout=10m")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LAYERS_TEST_DIR="+p.dir, "LAYERS_TEST_DRIVER="+p.driver, "HOME="+p.dir, "TMPDIR="+p.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestConformance/Faithful") {
		t.Errorf("%v\n%s", err, out)
	}
}

func wantNoSubvolumes(t *testing.T, mnt string) {
	t.Helper()
	if out := command(t, "btrfs", "subvolume", "list", mnt); out != "" {
		t.Errorf("subvolumes are left:\n%s", out)
	}
}

// temp is a directory that files without permissions do not stop from going.
func temp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		for _, name := range readNames(t, dir) {
			if err := removeTree(context.Background(), dir, name); err != nil {
				t.Error(err)
			}
		}
	})
	return dir
}

func readNames(t tester, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func lstat(t tester, path string) (st unix.Stat_t) {
	t.Helper()
	must(t, unix.Lstat(path, &st))
	return st
}
