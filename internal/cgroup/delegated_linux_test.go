package cgroup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// somebody is the uid of a user without rights or a name.
const somebody = 54321

// TestDelegated runs this file's neighbours as a user to whom root gave a group:
// in the group itself, and one below it, as systemd has it.
func TestDelegated(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a user a group")
	}
	h := openHost(t)
	if err := h.ready(); err != nil {
		t.Fatal(err)
	}
	for _, inner := range []string{"", "inner"} {
		t.Run("in it "+inner, func(t *testing.T) {
			given := h.root().child("given")
			if err := given.make(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := given.unmake(); err != nil {
					t.Error(err)
				}
			})
			give(t, given)
			at := given
			if inner != "" {
				at = given.child(inner)
				if err := at.make(); err != nil {
					t.Fatal(err)
				}
				give(t, at)
			}
			runAs(t, h, at)
		})
	}
}

// give makes a group somebody's: its directory and what moves processes and
// enables controllers, but not its own limits.
func give(t *testing.T, n node) {
	t.Helper()
	for _, tree := range n.trees {
		for _, file := range []string{"", "tasks", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			path := filepath.Join(n.in(tree), file)
			if err := os.Chown(path, somebody, somebody); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// runAs runs the other tests as somebody, in a group. The program is passed
// open: somebody may not be allowed where it is.
func runAs(t *testing.T, h *Host, n node) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	temp, err := os.MkdirTemp("", "given")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	if err := os.Chown(temp, somebody, somebody); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("/proc/self/fd/3", "-test.v", "-test.timeout=5m", "-test.run=^Test[^D]")
	cmd.Dir, cmd.Env = temp, []string{"TMPDIR=" + temp, "HOME=" + temp}
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{self}, &out, &out
	entry, err := h.kernel.entry(n)
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
	if err := startIn(entry, cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	// What root could have limited, somebody can limit below.
	for _, test := range []string{"TestMemory", "TestPids", "TestCPU", "TestKill/opened", "TestFreezeAndThaw/opened", "TestSetWhileRunning", "TestForkBomb"} {
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), "--- PASS: "+test+" ")
		}) {
			t.Errorf("%s did not pass:\n%s", test, out.String())
		}
	}
}
