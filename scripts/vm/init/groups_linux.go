package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// groups is where the tree of control groups is mounted. It is laid out as
// systemd does, because that is what the product meets on ordinary hosts.
const groups = "/sys/fs/cgroup"

var (
	ownGroup  = groups + "/init.scope"
	services  = groups + "/system.slice"
	userSlice = fmt.Sprintf("%s/user.slice/user-%d.slice", groups, plan.UserID)
	userOwn   = fmt.Sprintf("%s/user@%d.service", userSlice, plan.UserID)
)

func layOutGroups() error {
	for _, dir := range []string{ownGroup, services, userOwn} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := write(ownGroup+"/cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	for _, dir := range []string{groups, filepath.Dir(userSlice), userSlice, userOwn} {
		if err := enableAll(dir); err != nil {
			return err
		}
	}
	// No more than systemd accounts for unasked: what else root wants below
	// a service it has to enable.
	if err := write(services+"/cgroup.subtree_control", "+memory +pids"); err != nil {
		return err
	}
	return delegate(userOwn)
}

// enableAll gives the groups below dir every controller that dir has.
func enableAll(dir string) error {
	controllers, err := os.ReadFile(dir + "/cgroup.controllers")
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(controllers)) {
		if err := write(dir+"/cgroup.subtree_control", "+"+c); err != nil {
			return err
		}
	}
	return nil
}

// delegate makes dir the user's: the directory and the files that say who and
// what is below it, but none that limits dir itself.
func delegate(dir string) error {
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(dir, name), plan.UserID, plan.UserID); err != nil {
			return err
		}
	}
	return nil
}

// newGroup makes the group that a run starts in.
func newGroup(place plan.Place, number int) (string, error) {
	switch place {
	case plan.Service:
		dir := fmt.Sprintf("%s/run-%d.service", services, number)
		return dir, os.Mkdir(dir, 0o755)
	case plan.Delegated:
		dir := fmt.Sprintf("%s/run-%d.scope", userOwn, number)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
		return dir, delegate(dir)
	}
	return "", fmt.Errorf("nothing is known of the place %q", place)
}

// members lists the processes of all groups but our own, and so misses none
// that a run moved elsewhere.
func members() (pids []int, err error) {
	err = filepath.WalkDir(groups, func(file string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a group that went meanwhile
			return nil
		case err != nil:
			return err
		case file == ownGroup:
			return fs.SkipDir
		case d.Name() != "cgroup.procs" || filepath.Dir(file) == groups: // at the top are the kernel's threads
			return nil
		}
		found, err := readPids(file)
		pids = append(pids, found...)
		return err
	})
	return pids, err
}

func readPids(file string) (pids []int, err error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, nil // the group is gone or threaded
	}
	for _, field := range strings.Fields(string(content)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, err
}

func write(file, content string) error { return os.WriteFile(file, []byte(content), 0o644) }
