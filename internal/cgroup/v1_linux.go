package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// v1 is version 1 of cgroups.
type v1 struct{}

func (v1) version() int { return 1 }

// init: version 1 lets processes be beside groups, so the first process needs
// none of its own.
func (v1) init(box node) node { return box }

// prepare: in version 1 all controllers of a tree are in all its groups.
func (v1) prepare(node, ...controller) error { return nil }

// seal: see Namespaces.
func (v1) seal(*Host, node) error { return nil }

func (v1) knob(r forkbox.Resource) (string, controller) {
	switch r {
	case forkbox.CPUs:
		return "cpu.cfs_quota_us", cpu
	case forkbox.Memory:
		return "memory.limit_in_bytes", memory
	case forkbox.Swap:
		return "memory.memsw.limit_in_bytes", memory
	case forkbox.Pids:
		return "pids.max", pids
	}
	for _, io := range ioResources {
		if io.resource == r {
			return io.file, disk
		}
	}
	return "", ""
}

// entry opens the files by which a thread enters a group in every tree: where
// the tree does not have the group, the nearest above it.
func (v1) entry(n node) (*Entry, error) {
	e := &Entry{}
	for _, t := range n.trees {
		f, err := openNearest(t, n.rel, "tasks")
		if err != nil {
			e.Close()
			return nil, err
		}
		e.Tasks = append(e.Tasks, f)
	}
	return e, nil
}

func openNearest(t tree, rel, name string) (*os.File, error) {
	for {
		file := filepath.Join(t.base, rel, name)
		fd, err := open(file, unix.O_WRONLY)
		if err == nil {
			return os.NewFile(uintptr(fd), file), nil
		}
		if rel = filepath.Dir(rel); rel == "." || !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
	}
}

// pids are the processes whose first thread is in a group. The list of
// processes that version 1 gives has also those of which any thread is: the
// daemon, whose thread is there for a moment to start something, must not be
// taken for one of the box.
func (v1) pids(dir string) ([]int, error) {
	procs, err := read(filepath.Join(dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(procs) == "" {
		return nil, err
	}
	tasks, err := read(filepath.Join(dir, "tasks"))
	if err != nil {
		return nil, err
	}
	threads := map[int]bool{}
	for _, tid := range numbers(tasks) {
		threads[tid] = true
	}
	list := numbers(procs)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(pid int) bool {
		// A first thread that has ended, while others go on, is in no list.
		return !threads[pid] && state(pid) != 'Z'
	}), nil
}
