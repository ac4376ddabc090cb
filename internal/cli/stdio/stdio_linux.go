package stdio

import (
	"os"
	"strconv"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// inheritedPipes are those that the caller's shell opened for this command
// besides stdio: <(…) and >(…) are /dev/fd/63. What this program opened itself
// is closed on exec, what it was given is not.
func inheritedPipes() map[int]*os.File {
	pipes := map[int]*os.File{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 || fd > forkbox.MaxFD || len(pipes) == forkbox.MaxExtra {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		if isAnonymousPipe(fd) {
			pipes[fd] = os.NewFile(uintptr(fd), "/dev/fd/"+entry.Name())
		}
	}
	return pipes
}

func isAnonymousPipe(fd int) bool {
	var st unix.Stat_t
	var fs unix.Statfs_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO &&
		unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PIPEFS_MAGIC
}

// mayHandOver is true for sockets and for pipes without a name. A named pipe is
// a file of reality: through an open descriptor its mode could be changed.
func mayHandOver(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if info.Mode()&os.ModeSocket != 0 {
		return true
	}
	return isAnonymousPipe(int(f.Fd()))
}

// unread is how much of what was written to a pipe was not read yet.
func unread(fd uintptr) int64 {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return int64(n)
}
