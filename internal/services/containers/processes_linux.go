package containers

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Belongs says whether a process is of a container: engines name the group of its
// processes after it. A number that an engine gives may be one of another
// machine, where the engine runs in one of its own.
func Belongs(pid int, id string) bool {
	if pid <= 1 || len(id) < 12 {
		return false
	}
	text, err := os.ReadFile(proc(pid, "cgroup"))
	return err == nil && strings.Contains(string(text), id)
}

func proc(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// Processes are all of a container, also those that were started in it later, its
// first one first.
func (c Container) Processes() []int {
	entries, _ := os.ReadDir("/proc")
	pids := []int{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != c.PID && Belongs(pid, c.ID) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	if c.PID == 0 {
		return pids
	}
	return append([]int{c.PID}, pids...)
}

// writes are the regular files that a container's processes have open for writing,
// by the names that they have in it.
func (c Container) writes() (files []string) {
	for _, pid := range c.Processes() {
		fds, _ := os.ReadDir(proc(pid, "fd"))
		for _, fd := range fds {
			to, err := os.Readlink(proc(pid, "fd/"+fd.Name()))
			if err == nil && filepath.IsAbs(to) && !forkbox.Within(to, "/dev") && !forkbox.Within(to, "/proc") && linux.OpenForWriting(proc(pid, "fdinfo/"+fd.Name())) {
				files = append(files, strings.TrimSuffix(to, " (deleted)"))
			}
		}
	}
	return files
}
