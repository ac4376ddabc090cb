//go:build linux

package native

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/wire"
	"github.com/forkbox/forkbox/providertest"
)

// manifest is a tree of reality, byte for byte.
func manifest(t testing.TB, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		sum := ""
		if d.Type().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(raw))
		}
		list[path] = fmt.Sprintf("ino %d mode %o owner %d:%d links %d mtime %v ctime %v %s",
			st.Ino, st.Mode, st.Uid, st.Gid, st.Nlink, st.Mtim, st.Ctim, sum)
		return nil
	})
	must(t, err)
	return list
}

func sameTree(t testing.TB, before, after map[string]string) {
	t.Helper()
	if maps.Equal(before, after) {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if before[path] != after[path] {
			t.Errorf("reality changed: %s\n was %s\n is  %s", path, before[path], after[path])
		}
	}
	for path := range after {
		if before[path] == "" {
			t.Errorf("reality has %s now", path)
		}
	}
}

// processesOf lists the host's processes that belong to a store: those in its
// boxes, by what is mounted there, and what a daemon forked to become one, by
// its arguments.
func processesOf(home string) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	ours, _ := os.Readlink("/proc/self/ns/mnt")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		if ns, _ := os.Readlink(dir + "/ns/mnt"); ns != ours {
			mounts, _ := os.ReadFile(dir + "/mountinfo")
			line = append(line, mounts...)
		}
		if dir != fmt.Sprintf("/proc/%d", os.Getpid()) && bytes.Contains(line, []byte(home+"/")) {
			name, _ := os.ReadFile(dir + "/comm")
			list = append(list, dir+" "+string(name))
		}
	}
	return list
}

// mountsOf lists the host's mounts that belong to a store.
func mountsOf(t testing.TB, home string) (list []string) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for _, line := range strings.Split(string(raw), "\n") {
		if strings.Contains(line, home) {
			list = append(list, line)
		}
	}
	return list
}

// kinds of namespaces that a box has.
var kinds = []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"}

// namespacesOf names the namespaces of a box.
func namespacesOf(r *providertest.Running) []string {
	return strings.Fields(r.Sh("cd /proc/self/ns && readlink " + strings.Join(kinds, " ")))
}

// keepNumbers has the numbers of a box's namespaces be those of no other box of
// the tests that run beside, until forget is called.
func keepNumbers(t *testing.T, r *providertest.Running) (forget func()) {
	t.Helper()
	var files []*os.File
	for _, kind := range kinds {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", r.Instance.(*instance).process.PID, kind))
		must(t, err)
		files = append(files, f)
	}
	return func() { wire.CloseAll(files...) }
}

// namespacesHeld counts the host's processes that are in one of the namespaces.
func namespacesHeld(names []string) (list []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && slices.Contains(names, target) {
			list = append(list, link+" "+target)
		}
	}
	return list
}

// cgroupsNamed lists the host's cgroups whose name has the word in it.
func cgroupsNamed(word string) (list []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), word) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// nothingRuns fails when something of a store is left but its files.
func nothingRuns(t testing.TB, home string) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("processes: %q", left)
		}
	}()
	providertest.Eventually(t, "no process of the store is left", func() bool {
		left = processesOf(home)
		return len(left) == 0
	})
	if left := mountsOf(t, home); left != nil {
		t.Errorf("mounts are left: %q", left)
	}
}

// nothingLeft fails when anything of a store is left.
func nothingLeft(t testing.TB, home string) {
	t.Helper()
	nothingRuns(t, home)
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("files: %q", left)
		}
	}()
	providertest.Eventually(t, "no file of the store is left", func() bool {
		left = storeFiles(t, home)
		return len(left) == 0
	})
}
