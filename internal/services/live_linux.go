package services

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/elsewhere"
)

// Live lists what belongs to databases that run now: the directories that are
// known by a marker, and what their links lead to. A server that starts on a copy
// of such files, made while they are written to, finds them torn. It is asked for
// when boxes are made, so it looks no further than at names of programs.
func Live() []string {
	known, err := recipes()
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []string
	seen := map[string]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		r := match(known, nameNow(dir))
		if r == nil || r.Data.Marker == "" {
			continue
		}
		if elsewhere.Is(pid) {
			all = append(all, liveIn(r, pid, seen)...)
		} else if p, ok := readProcess(dir, pid); ok {
			paths, _ := r.data(p)
			all = append(all, paths...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// liveIn are the directories of a database in a container, where this machine has
// them: a volume of its own, or files of the machine. A box has copies, which the
// machine does not show. seen has those that were asked for: a database is many
// processes, and there may be one in each of many boxes.
func liveIn(r *recipe, pid int, seen map[string]bool) (paths []string) {
	mounts, err := os.Readlink(procDir(pid) + "/ns/mnt")
	dir, err2 := os.Readlink(procDir(pid) + "/cwd")
	if err != nil || err2 != nil || seen[mounts+dir] {
		return nil
	}
	seen[mounts+dir] = true
	if !exists(filepath.Join(procDir(pid), "root", dir, r.Data.Marker)) {
		return nil
	}
	// What lies in its own root filesystem no box sees: that is not mounted there.
	names := elsewhere.Of(pid)
	path, root := names.Here(dir), names.Here("/")
	if path != "" && (root == "" || !forkbox.Within(path, root)) {
		paths = append(paths, path)
	}
	return paths
}

// nameNow is what a process calls itself, as far as the kernel keeps it.
func nameNow(dir string) string {
	fd, err := unix.Open(dir+"/comm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var text [32]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text[:n]), "\n")
}
