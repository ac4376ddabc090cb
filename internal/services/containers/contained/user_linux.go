package contained

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// user is who a container's command runs as.
type user struct {
	credential *syscall.Credential
	home       string
}

// user finds who is meant, in the container's own files.
func (c *container) user() (u user, err error) {
	name, group, _ := strings.Cut(c.User, ":")
	if name == "" {
		name = "0"
	}
	u = user{credential: &syscall.Credential{}, home: "/"}
	entry := c.entry("/etc/passwd", func(f []string) bool { return len(f) >= 6 && (f[0] == name || f[2] == name) })
	uid, gid := name, "0"
	if entry != nil {
		name, uid, gid, u.home = entry[0], entry[2], entry[3], entry[5]
	}
	if group != "" {
		gid = group
		if g := c.entry("/etc/group", func(f []string) bool { return len(f) >= 3 && f[0] == group }); g != nil {
			gid = g[2]
		}
	}
	if u.credential.Uid, err = number(uid); err == nil {
		u.credential.Gid, err = number(gid)
	}
	if err != nil {
		return u, fmt.Errorf("the container has no user %s", c.User)
	}
	c.entry("/etc/group", func(f []string) bool {
		if len(f) >= 4 && slices.Contains(strings.Split(f[3], ","), name) {
			if n, err := number(f[2]); err == nil {
				u.credential.Groups = append(u.credential.Groups, n)
			}
		}
		return false
	})
	return u, nil
}

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}

// entry is the first line of a file of the container that is meant, in its parts.
func (c *container) entry(path string, is func([]string) bool) []string {
	fd, err := unix.Openat2(c.root, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if parts := strings.Split(lines.Text(), ":"); is(parts) {
			return parts
		}
	}
	return nil
}
