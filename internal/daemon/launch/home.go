package launch

import (
	"os"
	"strconv"

	"github.com/forkbox/forkbox"
)

// MakeHome makes the daemon's directory. Root's may be entered by every user:
// the socket is in there, and peer credentials decide who is served.
func MakeHome(home string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if _, err := os.Stat(home); err == nil {
		return ownHome(home)
	}
	err := os.MkdirAll(home, mode)
	if err == nil {
		err = os.Chmod(home, mode) // whatever the umask took away
	}
	if err != nil {
		return forkbox.Errorf(forkbox.Unavailable, "make the home of forkbox", "%w", err).
			Hint("set FORKBOX_HOME to a directory that you can write")
	}
	return nil
}

// ownHome refuses to run a daemon in another user's directory.
func ownHome(home string) error {
	uid, known := fileOwner(home)
	if !known || uid == os.Geteuid() {
		return nil
	}
	e := forkbox.Errorf(forkbox.Unavailable, "start the daemon", "%s belongs to uid %s", home, strconv.Itoa(uid))
	if uid == 0 {
		return e.Hint("no daemon runs there; start it as root: sudo forkbox serve")
	}
	return e.Hint("set FORKBOX_HOME to a directory of your own")
}
