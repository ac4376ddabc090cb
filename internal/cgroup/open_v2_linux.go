package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// v2Controllers are those that version 2 has; processors are always counted,
// and any group can be frozen.
var v2Controllers = []controller{cpu, memory, pids, disk}

// spot is a place that was tried.
type spot struct {
	dir     string
	files   map[string]bool
	enabled []controller // by us
	leaf    string
}

// findV2 takes the first place in which all controllers can be had, or else
// the one with the most of them.
func (h *Host) findV2(m mount, own string) error {
	h.kernel = v2{}
	var best spot
	var errs []error
	at, _ := m.below(own)
	most := len(controllersOf(m))
	for _, dir := range candidates(m, own) {
		s, err := h.trySpot(dir, dir == at && best.count() == 0)
		if err != nil {
			errs = append(errs, err)
		}
		if s.count() <= best.count() {
			s.leave()
			continue
		}
		best.leave()
		if best = s; best.count() == most {
			break
		}
	}
	if best.count() == 0 {
		return unusable(errors.Join(errs...))
	}
	h.blame(v2Controllers, fmt.Errorf("the controller is not enabled in %s", best.dir))
	h.take(best.files)
	h.leaf = best.leaf
	h.trees = []tree{{controllers: best.controllers(), base: filepath.Join(best.dir, h.name), mount: m}}
	return nil
}

func (s spot) count() int {
	return len(slices.DeleteFunc(s.controllers(), func(c controller) bool { return !slices.Contains(v2Controllers, c) }))
}

func (s spot) controllers() []controller {
	if s.files == nil {
		return nil
	}
	list := []controller{cpuacct, freezer}
	for _, c := range v2Controllers {
		if s.files[map[controller]string{cpu: "cpu.max", memory: "memory.max", pids: "pids.max", disk: "io.stat"}[c]] {
			list = append(list, c)
		}
	}
	return list
}

// leave undoes what trying a place that is not taken has changed.
func (s spot) leave() {
	for _, c := range s.enabled {
		_ = write(filepath.Join(s.dir, "cgroup.subtree_control"), "-"+string(c))
	}
	if s.leaf != "" {
		_ = write(filepath.Join(s.dir, "cgroup.procs"), "0")
		_ = rmdir(s.leaf)
	}
}

// trySpot enables the controllers in a group and makes one below it. Processes
// can be moved only by who may write to the group that both places are in.
func (h *Host) trySpot(dir string, mayMove bool) (s spot, err error) {
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := writable(filepath.Join(dir, file)); err != nil {
			return spot{}, err
		}
	}
	s.dir = dir
	if occupied(dir) {
		if !mayMove {
			return spot{}, fmt.Errorf("there are processes in %s: %w", dir, unix.EBUSY)
		}
		if s.leaf, err = stepAside(dir, h.name); err != nil {
			return spot{}, err
		}
	}
	s.enabled, err = enable(dir, v2Controllers)
	files, tryErr := try(dir, h.name)
	s.files = files
	return s, errors.Join(err, tryErr)
}

// occupied says whether there are processes in a group that may have none if
// those below it are to have limits. The kernel would let some controllers be
// enabled all the same, and then no group below could hold processes of its
// own. Only the root of all, which has no type, may have both.
func occupied(dir string) bool {
	return exists(dir, "cgroup.type") && strings.TrimSpace(readIn(dir, "cgroup.procs")) != ""
}

// enable has a group's children counted and limited by those controllers that
// the group itself is.
func enable(dir string, cs []controller) (done []controller, err error) {
	file := filepath.Join(dir, "cgroup.subtree_control")
	has, err := read(file)
	if err != nil {
		return nil, err
	}
	can, err := read(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, c := range cs {
		if slices.Contains(strings.Fields(has), string(c)) || !slices.Contains(strings.Fields(can), string(c)) {
			continue
		}
		if err := write(file, "+"+string(c)); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, c)
	}
	return done, errors.Join(errs...)
}

// stepAside moves this process to a group below its own, if it is alone in it:
// then its own may have others below it that are limited.
func stepAside(dir, name string) (leaf string, err error) {
	text, err := read(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return "", err
	}
	if in := numbers(text); len(in) != 1 || in[0] != os.Getpid() {
		return "", fmt.Errorf("there are other processes than the daemon in %s: %w", dir, unix.EBUSY)
	}
	leaf = filepath.Join(dir, name+"-daemon")
	if err := unix.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return "", &os.PathError{Op: "make the group", Path: leaf, Err: err}
	}
	if err := write(filepath.Join(leaf, "cgroup.procs"), "0"); err != nil {
		return "", errors.Join(err, rmdir(leaf))
	}
	return leaf, nil
}

// comeBack undoes stepAside, if no group is left that it was for. Nothing
// depends on it.
func (h *Host) comeBack() {
	if h.leaf == "" || exists(h.trees[0].base, "cgroup.procs") {
		return
	}
	spot{dir: filepath.Dir(h.leaf), leaf: h.leaf, enabled: v2Controllers}.leave()
	if !exists(h.leaf, "cgroup.procs") {
		h.leaf = ""
	}
}
