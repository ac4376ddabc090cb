//go:build linux

package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise1WhatIsTheHostsInProcIsReadOnly: the kernel has one mode and one
// owner of /proc/misc for every /proc there is. Root in a box tries to set
// them, also of what it can mount elsewhere, and in namespaces of its own.
func TestPromise1WhatIsTheHostsInProcIsReadOnly(t *testing.T) {
	t.Parallel()
	self := strings.Join(providertest.Tool("graze-proc", "/proc", "/tmp/fbp", "/tmp/fbr", "/tmp/fbn"), " ")
	around := `mkdir -p /tmp/fbp /tmp/fbr /tmp/fbn
		umount -l /proc/misc; mount -o remount,bind,rw /proc/misc; mount -o remount,rw /proc
		mount --bind /proc /tmp/fbp; mount --rbind /proc /tmp/fbr; mount -t proc p /tmp/fbn; `
	_, l := lab(t)
	r := l.Start(l.Box())
	for name, script := range map[string]string{
		"in the box":          self,
		"past the mounts":     around + self,
		"in nested ones":      "unshare -Urm sh -c '" + around + self + "'",
		"with a /proc of its": "unshare -Urmpf sh -c '" + around + self + "'",
	} {
		res, err := r.Try(providertest.Shell(script), nil)
		must(t, err)
		out := strings.TrimSpace(res.Stdout)
		if strings.Contains(out, "worked") || root && strings.Contains(out, "not read-only") || !strings.Contains(out, "tried /proc/misc") || !strings.Contains(out, "tried /proc/sys") {
			t.Errorf("%s: %.3000s %.300s", name, out, res.Stderr)
		}
	}
	// What is of processes is theirs, and what is read can be read.
	r.Sh("echo 7 >/proc/self/oom_score_adj && echo x >/proc/self/comm && cat /proc/misc /proc/cpuinfo /proc/tty/drivers >/dev/null && ls /proc/fs >/dev/null")
	if root {
		r.Sh("unshare -Ur true")
	}
}

// grazeProcTool tries to set the attributes of all in /proc that is not of a
// process, to what they are, and prints what it tried and what worked.
func grazeProcTool(places []string) int {
	for _, place := range places {
		_ = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			var st unix.Stat_t
			switch {
			case path == place || err != nil:
				return nil
			case filepath.Dir(path) == place && e.Name()[0] >= '0' && e.Name()[0] <= '9':
				return fs.SkipDir
			case e.Type()&fs.ModeSymlink != 0 || unix.Lstat(path, &st) != nil:
				return nil
			}
			if filepath.Dir(path) == "/proc" {
				fmt.Println("tried", path)
			}
			for _, err := range []error{
				unix.Chmod(path, st.Mode&0o7777),
				unix.Chown(path, int(st.Uid), int(st.Gid)),
				unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, 0),
			} {
				switch {
				case err == nil:
					fmt.Println("worked", path)
				case !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.ENOENT): // which may have gone meanwhile
					fmt.Println("not read-only", path, err)
				}
			}
			if e.IsDir() && e.Name() == "sys" {
				return fs.SkipDir // a part is the box's own; TestPromise1RealityIsReadOnly tries the rest
			}
			return nil
		})
	}
	return 0
}

// TestADaemonThatSeesOnlyProcessesMakesNoBoxes: it does not know what of a
// box's /proc is the host's.
func TestADaemonThatSeesOnlyProcessesMakesNoBoxes(t *testing.T) {
	t.Parallel()
	if !root {
		return // a user's boxes need no such knowledge
	}
	look := strings.Join(providertest.Tool("look-at-proc"), " ")
	whole, err := exec.Command("sh", "-c", look).CombinedOutput()
	if err != nil || strings.TrimSpace(string(whole)) != "<nil>" {
		t.Errorf("with a whole /proc: %v %s", err, whole)
	}
	some, err := exec.Command("unshare", "-pfm", "sh", "-c", "mount -t proc -o subset=pid p /proc && exec "+look).CombinedOutput()
	if err != nil || !strings.Contains(string(some), "shows only processes") || !strings.Contains(string(some), "ProcSubset") {
		t.Errorf("with processes only: %v %s", err, some)
	}
}

func lookAtProcTool([]string) int {
	err := new(builder).lookAtProc(&plan{})
	fmt.Println(err)
	var e *forkbox.Error
	if errors.As(err, &e) {
		fmt.Println(e.Hints)
	}
	return 0
}

// TestAllOfProcIsKnown: reading stops where the processes begin, and nothing
// else comes after them.
func TestAllOfProcIsKnown(t *testing.T) {
	t.Parallel()
	b := new(builder)
	plan := &plan{}
	must(t, b.lookAtProc(plan))
	known := map[string]bool{}
	for _, name := range plan.proc {
		known[name] = true
	}
	all, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range all {
		process := e.Name()[0] >= '0' && e.Name()[0] <= '9'
		if e.Type()&fs.ModeSymlink == 0 && process == known[e.Name()] {
			t.Errorf("%s: known %v", e.Name(), known[e.Name()])
		}
	}
	if !known["misc"] || !known["sys"] {
		t.Errorf("known are only %v", plan.proc)
	}
}
