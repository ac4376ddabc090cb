//go:build unix

package policy

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"github.com/forkbox/forkbox"
)

// openPlain does not wait for a writer where a fifo has that name.
func openPlain(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ownedByFriend refuses what another user owns: in /tmp any user can put a
// forkbox.yaml above other people's work.
func ownedByFriend(file string, info fs.FileInfo) error {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	if uid == 0 || uid == os.Geteuid() || os.Geteuid() == 0 && uid == sudoUser() {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, "read "+file, "it belongs to uid %d, neither to you nor to root", uid).
		Hint("a file of your own nearer to where you work counts instead, even an empty one")
}

// sudoUser is who root was before sudo, -1 if there is none: their own
// projects stay theirs.
func sudoUser() int {
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil {
		return -1
	}
	return uid
}

// writtenByFriends refuses what another user may write. The caller's own group
// may: where every user has a group of their own, files are made so.
func writtenByFriends(file string, info fs.FileInfo) error {
	mode, gid := info.Mode().Perm(), int(info.Sys().(*syscall.Stat_t).Gid)
	who := ""
	switch {
	case mode&0o002 != 0:
		who = "everybody"
	case mode&0o020 != 0 && gid != 0 && gid != os.Getegid():
		who = "group " + strconv.Itoa(gid)
	default:
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, "read "+file, "%s may write it", who).Hint("chmod go-w %q", file)
}
