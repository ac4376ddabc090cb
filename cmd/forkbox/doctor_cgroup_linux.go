package main

import (
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// controlGroups says which version of control groups this host has: what can be
// limited depends on it.
func controlGroups() []forkbox.Check {
	check := forkbox.Check{Name: "control groups", Status: forkbox.Info, Detail: "version 1"}
	switch {
	case isCgroup2("/sys/fs/cgroup"):
		check.Detail = "version 2"
	case isCgroup2("/sys/fs/cgroup/unified"):
		check.Detail = "version 1, beside version 2 (hybrid)"
	case unix.Access("/sys/fs/cgroup", unix.F_OK) != nil:
		check.Detail = "none"
	}
	return []forkbox.Check{check}
}

func isCgroup2(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}
