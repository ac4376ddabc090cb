package linux

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp touches a file and returns the time that the kernel wrote on it.
// Whatever is changed later, on any local filesystem, gets this time or a
// later one; whatever was changed before, this time or an earlier one.
//
// Touched twice: since Linux 6.13 a file whose time was looked at is stamped
// finely when it is changed again within a tick. So the second stamp is
// later than anything that was changed before. On older kernels what was
// changed in the same tick has the same time.
func Stamp(f *os.File) (t time.Time, err error) {
	for range 2 {
		if t, err = touch(int(f.Fd())); err != nil {
			return t, err
		}
	}
	return t, nil
}

func touch(fd int) (time.Time, error) {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if err := unix.UtimesNanoAt(fd, "", now, unix.AT_EMPTY_PATH); err != nil {
		return time.Time{}, os.NewSyscallError("utimensat", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, os.NewSyscallError("fstat", err)
	}
	return time.Unix(st.Ctim.Unix()), nil
}
