//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLimitsRootless gives a user groups of their own in every hierarchy of
// cgroup version 1, and has tests that need them run there as that user:
// limits are enforced as for root. (Of version 2 that is so where all of these
// tests are run by a user to whom a group was delegated.)
func TestLimitsRootless(t *testing.T) {
	t.Parallel()
	who, err := user.Lookup("fbtest")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root can give groups away, and there has to be a user fbtest")
	}
	groups := delegated(t, who)
	if len(groups) == 0 {
		t.Skip("there is no cgroup version 1 here")
	}
	tests := []string{"Memory", "MemoryOfExec", "ForkBomb", "CPU", "SetMemory", "PausedSurvives", "CauseEverywhere", "CrashMidSet"}
	out := runAs(t, who, groups, "^TestLimits("+strings.Join(tests, "|")+")$")
	for _, test := range tests {
		if !strings.Contains(out, "--- PASS: TestLimits"+test+" (") {
			t.Errorf("%s did not pass", test)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// delegated makes groups that belong to a user, where there is version 1.
func delegated(t *testing.T, who *user.User) (groups []string) {
	uid, gid := ids(t, who)
	for _, controller := range []string{"memory", "cpu", "cpuacct", "pids", "freezer", "blkio"} {
		top := filepath.Join("/sys/fs/cgroup", controller)
		if _, err := os.Stat(filepath.Join(top, "tasks")); err != nil {
			continue
		}
		group := filepath.Join(top, fmt.Sprint("fbtest-given-", os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeGroup(t, group) })
		for _, name := range []string{".", "tasks", "cgroup.procs"} {
			if err := os.Chown(filepath.Join(group, name), uid, gid); err != nil {
				t.Fatal(err)
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// removeGroup waits for what is just dying in it.
func removeGroup(t *testing.T, group string) {
	var err error
	if !comes(func() bool { err = os.Remove(group); return err == nil || errors.Is(err, fs.ErrNotExist) }) {
		t.Errorf("cannot remove %s: %v", group, err)
	}
}

func ids(t *testing.T, who *user.User) (uid, gid int) {
	t.Helper()
	uid, uidErr := strconv.Atoi(who.Uid)
	gid, gidErr := strconv.Atoi(who.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		t.Fatal(err)
	}
	return uid, gid
}

// enterGroups is a shell script that enters the groups in $1 and then is the
// rest of its arguments.
const enterGroups = `for g in $1; do echo $$ > "$g/cgroup.procs" || exit 1; done; shift; exec "$@"`

// runAs runs tests of this binary as a user, in groups that were given away.
func runAs(t *testing.T, who *user.User, groups []string, tests string) string {
	t.Helper()
	dir := copiedFor(t, who)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", enterGroups, "sh", strings.Join(groups, " "),
		"setpriv", "--reuid", who.Uid, "--regid", who.Gid, "--init-groups", "--inh-caps=-all",
		"env", "-i", "HOME="+who.HomeDir, "USER="+who.Username, "LOGNAME="+who.Username, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8",
		filepath.Join(dir, "forkbox.test"), "-test.v", "-test.timeout=170s", "-test.run", tests)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as %s: %v", who.Username, err)
	}
	return string(out)
}

// copiedFor is a directory of a user's with this binary, which itself may lie
// where only root gets to.
func copiedFor(t *testing.T, who *user.User) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fbtest-as-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "forkbox.test"), self, 0o755)
	}
	uid, gid := ids(t, who)
	if err := errors.Join(err, os.Chown(dir, uid, gid)); err != nil {
		t.Fatal(err)
	}
	return dir
}
