//go:build linux

package boxinit

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox"
)

// identify finds whom an exec runs as. Names are looked up in the box, where
// users may have been added. A nil credential means: as init itself.
func identify(name string, owner forkbox.Owner, rootless bool) (*syscall.Credential, error) {
	if rootless {
		return nil, identifyUnprivileged(name)
	}
	if name == "" || name == strconv.Itoa(owner.UID) {
		return credential(owner.UID, owner.GID, owner.Groups), nil
	}
	fields := FindEntry("/etc/passwd", func(f []string) bool { return len(f) >= 4 && (f[0] == name || f[2] == name) })
	if fields == nil {
		uid, err := strconv.Atoi(name)
		if err != nil || uid < 0 {
			return nil, forkbox.Errorf(forkbox.Invalid, "run as "+name, "there is no such user in the box")
		}
		return credential(uid, uid, nil), nil
	}
	uid, err := strconv.Atoi(fields[2])
	gid, err2 := strconv.Atoi(fields[3])
	if err != nil || err2 != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, "run as "+name, "its entry in /etc/passwd is damaged")
	}
	return credential(uid, gid, groupsOf(fields[0])), nil
}

// identifyUnprivileged: such a box maps only its owner.
func identifyUnprivileged(name string) error {
	if name == "" || name == strconv.Itoa(os.Getuid()) {
		return nil
	}
	self := FindEntry("/etc/passwd", func(f []string) bool { return len(f) >= 4 && f[2] == strconv.Itoa(os.Getuid()) })
	if self != nil && self[0] == name {
		return nil
	}
	return forkbox.Errorf(forkbox.Unsupported, "run as "+name, "a box of an unprivileged daemon has only its owner's user id").
		Hint("run the daemon as root to have all users in the box")
}

func credential(uid, gid int, groups []int) *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, g := range groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

func groupsOf(user string) []int {
	var list []int
	FindEntry("/etc/group", func(f []string) bool {
		if len(f) >= 4 {
			for _, member := range strings.Split(f[3], ",") {
				if gid, err := strconv.Atoi(f[2]); err == nil && member == user {
					list = append(list, gid)
				}
			}
		}
		return false
	})
	return list
}

// FindEntry returns the first line of a colon-separated file that match accepts.
func FindEntry(path string, match func(fields []string) bool) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); match(fields) {
			return fields
		}
	}
	return nil
}
