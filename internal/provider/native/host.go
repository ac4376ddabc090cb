//go:build linux

package native

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/nofile"
)

// host is what does not change while the daemon runs.
type host struct {
	nofile   unix.Rlimit // what processes in a box may open
	maxFD    int         // what this process may open
	lastCap  int
	oneLower bool
	masks    []mask
}

// ownProgram opens this binary as a box's init will execute it. Root in a box
// of root's could open /proc/1/exe for writing and so replace the program on
// the host; what it finds there is a read-only mount. (In an unprivileged box no
// process may look into init.)
func ownProgram(rootless bool) (*os.File, error) {
	if rootless {
		fd, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
		return os.NewFile(uintptr(fd), "forkbox"), err
	}
	fd, err := linux.ReadOnlyClone("/proc/self/exe")
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, "protect the forkbox program from boxes", "%w", err).
			Hint("forkbox needs Linux 5.12 or later")
	}
	return os.NewFile(uintptr(fd), "forkbox"), nil
}

// maxFD is this process's own limit.
func maxFD() int {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return int(min(limit.Cur, 1<<20))
}

// softLimit is the limit on open files that the user has. The Go runtime has
// raised this process's own.
func softLimit() unix.Rlimit {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	if soft, _, ok := nofile.Limit(); ok {
		limit.Cur = min(soft, limit.Max)
	}
	return limit
}
