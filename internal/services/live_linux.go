package services

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	own, _ := os.Readlink("/proc/self/ns/mnt")
	var all []string
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
		// In a box or a container it has files of its own.
		if mnt, err := os.Readlink(filepath.Join(dir, "ns/mnt")); err != nil || mnt != own {
			continue
		}
		if p, ok := readProcess(dir, pid); ok {
			paths, _ := r.data(p)
			all = append(all, paths...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
