package hostload

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// insideEnv names the cgroup that a copy of the test is to go into.
const insideEnv = "FORKBOX_TEST_INSIDE_CGROUP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(insideEnv); dir != "" {
		os.Exit(tellFromInside(dir))
	}
	os.Exit(m.Run())
}

func tellFromInside(dir string) int {
	err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0)
	load, lookErr := look("/")
	if err != nil || lookErr != nil {
		fmt.Fprintln(os.Stderr, err, lookErr)
		return 1
	}
	fmt.Println(load.MemTotal, load.MemAvailable)
	return 0
}

// TestInsideARealCgroup: a process in a cgroup of 512m, and in one below it
// without a limit, has 512m.
func TestInsideARealCgroup(t *testing.T) {
	limited := limitedCgroup(t, 512<<20)
	for _, dir := range []string{limited, makeCgroup(t, filepath.Join(limited, "below"))} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), insideEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var total, available int64
		if _, err := fmt.Sscan(string(out), &total, &available); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if total != 512<<20 || available <= 0 || available > total {
			t.Errorf("in %s: %d of %d", dir, available, total)
		}
	}
}

// limitedCgroup makes one in whatever tree of this host limits memory.
func limitedCgroup(t *testing.T, most int64) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may make cgroups in any place")
	}
	for _, h := range (source{"/"}).hierarchies() {
		dir := makeCgroup(t, filepath.Join(h.top, "forkbox-hostload-"+strconv.Itoa(os.Getpid())))
		if os.WriteFile(filepath.Join(dir, h.most), []byte(strconv.FormatInt(most, 10)), 0) == nil {
			return dir
		}
	}
	t.Skip("no tree of cgroups here limits memory")
	return ""
}

func makeCgroup(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("this host has no cgroups that can be written: ", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil && !strings.Contains(err.Error(), "no such file") {
			t.Error(err)
		}
	})
	return dir
}
