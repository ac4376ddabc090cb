package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// controller is a part of the kernel that counts or limits something.
type controller string

const (
	cpu     controller = "cpu"
	cpuacct controller = "cpuacct"
	memory  controller = "memory"
	pids    controller = "pids"
	freezer controller = "freezer"
	disk    controller = "io"
)

// perExec are those in which every exec has a group of its own. Processes are
// looked up in the first that there is.
var perExec = []controller{pids, memory, freezer}

// named is a controller from its name in either version, "" if we have no use
// for it.
func named(word string) controller {
	switch c := controller(word); c {
	case "blkio":
		return disk
	case cpu, cpuacct, memory, pids, freezer:
		return c
	}
	return ""
}

// tree is a hierarchy of groups, with what of it is ours.
type tree struct {
	controllers []controller
	base        string // the directory that holds our boxes' groups
	mount       mount
}

func (t tree) has(any ...controller) bool {
	return slices.ContainsFunc(any, func(c controller) bool { return slices.Contains(t.controllers, c) })
}

// node is one group: a directory of the same name in every tree.
type node struct {
	trees []tree
	rel   string // below base: "B", "B/x", "B/x/1"
}

// dir is where the group is for a controller, "" if that is in no tree.
func (n node) dir(c controller) string {
	for _, t := range n.trees {
		if t.has(c) {
			return n.in(t)
		}
	}
	return ""
}

func (n node) in(t tree) string { return filepath.Join(t.base, n.rel) }

func (n node) child(name string) node {
	return node{trees: n.trees, rel: filepath.Join(n.rel, name)}
}

// only is the group in those trees that have one of some controllers.
func (n node) only(any ...controller) node {
	trees := slices.DeleteFunc(slices.Clone(n.trees), func(t tree) bool { return !t.has(any...) })
	return node{trees: trees, rel: n.rel}
}

// present is the group in those trees in which it exists.
func (n node) present() node {
	trees := slices.DeleteFunc(slices.Clone(n.trees), func(t tree) bool { return !exists(n.in(t), "cgroup.procs") })
	return node{trees: trees, rel: n.rel}
}

// main is the directory in which the group's processes are looked up.
func (n node) main() string {
	for _, c := range perExec {
		if dir := n.dir(c); dir != "" {
			return dir
		}
	}
	if len(n.trees) == 0 {
		return ""
	}
	return n.in(n.trees[0])
}

// make makes the group. What it made is removed again when it fails.
func (n node) make() error {
	for i, t := range n.trees {
		if err := unix.Mkdir(n.in(t), 0o755); err != nil {
			made := node{trees: n.trees[:i], rel: n.rel}
			return errors.Join(&os.PathError{Op: "make the group", Path: n.in(t), Err: err}, made.unmake())
		}
	}
	return nil
}

// unmake removes the group, with all groups below it. It fails if there is a
// process in one of them.
func (n node) unmake() error {
	var errs []error
	for _, t := range n.trees {
		errs = append(errs, walk(n.in(t), rmdir))
	}
	return errors.Join(errs...)
}

func rmdir(dir string) error {
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return &os.PathError{Op: "remove the group", Path: dir, Err: err}
}

// candidates lists where our groups could be, best first: at the top of what
// is mounted, then in each group on the way to our own. The higher they are,
// the fewer are in the way, and a daemon that starts again somewhere else
// finds them.
func candidates(m mount, own string) []string {
	list := []string{m.point}
	at, ok := m.below(own)
	rest, err := filepath.Rel(m.point, at)
	if !ok || err != nil || rest == "." {
		return list
	}
	dir := m.point
	for part := range strings.SplitSeq(rest, "/") {
		dir = filepath.Join(dir, part)
		list = append(list, dir)
	}
	return list
}
