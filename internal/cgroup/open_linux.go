package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Open finds where this process may make groups, by making one and removing it
// again. name tells daemons apart; the same daemon has the same after a
// restart.
//
// As root that is at the top of what is mounted; for others in the topmost
// group that is theirs, on the way to their own. In version 2 controllers are
// enabled there if they are not yet, which changes no limit; and when this
// process is alone in its group it moves to one below, as a group that holds
// processes may not have others below it with limits.
func Open(name string) (*Host, error) {
	const op = "use cgroups"
	if !validID(name) {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%q cannot be the name of a group", name)
	}
	text, err := read("/proc/self/mountinfo")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "%w", err)
	}
	own, err := read("/proc/self/cgroup")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "%w", err)
	}
	h := &Host{name: name, files: map[string]bool{}, why: map[controller]string{}, known: map[string]bool{}, inner: map[string]bool{}}
	err = h.find(parseMounts(text), parseMembership(own))
	if err != nil {
		return nil, err
	}
	h.SetIOPaths([]string{"/"})
	return h, nil
}

// find uses version 2 if it has any of the controllers, as each is in one
// version at a time.
func (h *Host) find(mounts []mount, own []membership) error {
	for _, m := range mounts {
		if m.kind == "cgroup2" && len(controllersOf(m)) > 0 {
			group, _ := groupOf(own, "")
			return h.findV2(m, group)
		}
	}
	return h.findV1(mounts, own)
}

// controllersOf is what a mounted version 2 hierarchy has of what we use.
func controllersOf(m mount) (list []controller) {
	text, _ := read(filepath.Join(m.point, "cgroup.controllers"))
	for _, word := range strings.Fields(text) {
		if slices.Contains(v2Controllers, controller(word)) {
			list = append(list, controller(word))
		}
	}
	return list
}

func (h *Host) findV1(mounts []mount, own []membership) error {
	h.kernel = v1{}
	var errs []error
	for _, m := range mounts {
		t := tree{mount: m}
		for _, word := range m.super {
			// The same hierarchy can be mounted more than once.
			if c := named(word); m.kind == "cgroup" && c != "" && !h.root().only(c).some() {
				t.controllers = append(t.controllers, c)
			}
		}
		if len(t.controllers) == 0 {
			continue
		}
		group, _ := groupOf(own, t.word())
		if err := h.settle(&t, group); err != nil {
			errs = append(errs, err)
			h.blame(t.controllers, err)
			continue
		}
		h.trees = append(h.trees, t)
	}
	if !h.root().only(cpu, memory, pids, disk).some() {
		return unusable(errors.Join(errs...))
	}
	return nil
}

func (n node) some() bool { return len(n.trees) > 0 }

// settle picks the first place for our groups in a tree that works.
func (h *Host) settle(t *tree, own string) error {
	var errs []error
	for _, dir := range candidates(t.mount, own) {
		files, err := try(dir, h.name)
		if err == nil {
			t.base = filepath.Join(dir, h.name)
			h.take(files)
			return nil
		}
		errs = append(errs, err)
	}
	return errs[len(errs)-1] // that of our own group says most
}

func (h *Host) take(files map[string]bool) {
	for name := range files {
		h.files[name] = true
	}
}

func (h *Host) blame(cs []controller, err error) {
	for _, c := range cs {
		h.why[c] = err.Error()
	}
}

// try makes a group in a directory and says which files it has.
func try(dir, name string) (map[string]bool, error) {
	probe := filepath.Join(dir, name+"-try-"+itoa(os.Getpid()))
	if err := unix.Mkdir(probe, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &os.PathError{Op: "make a group in", Path: dir, Err: err}
	}
	defer unix.Rmdir(probe)
	entries, err := os.ReadDir(probe)
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for _, e := range entries {
		files[e.Name()] = true
	}
	// Where cpusets are mounted together with something else, a new group has
	// no processors, and no process can enter it.
	if text, err := read(filepath.Join(probe, "cpuset.cpus")); err == nil && !files["cgroup.controllers"] && strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%s is mounted together with cpuset", dir)
	}
	return files, nil
}

// unusable is the error for a host on which nothing can be limited.
func unusable(err error) error {
	if err == nil {
		err = errors.New("no controller is mounted")
	}
	// One for each place that was tried, and one says enough.
	why, _, _ := strings.Cut(err.Error(), "\n")
	e := forkbox.Errorf(forkbox.Unsupported, "use cgroups", "%s", why)
	if os.Geteuid() != 0 {
		return e.Hint("start the daemon in a group of your own: %s", ownScope)
	}
	return e.Hint("in a container, /sys/fs/cgroup has to be mounted writable; in a service, the group has to be delegated (Delegate=yes)")
}

const ownScope = "systemd-run --user --scope -p Delegate=yes forkbox serve"
