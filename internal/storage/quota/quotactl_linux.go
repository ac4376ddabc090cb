package quota

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// device is a filesystem whose quotas are asked for: by a directory on it,
// which Linux 5.14 and later take, or by its block device.
type device struct {
	dir   string
	block string // "" where the directory will do
}

func deviceOf(dir string) (device, error) {
	d := device{dir: dir}
	_, err := d.enforces()
	if !errors.Is(err, unix.ENOSYS) {
		return d, nil
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return d, err
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		same := m.Major == int(unix.Major(st.Dev)) && m.Minor == int(unix.Minor(st.Dev))
		return !same, same
	})
	if err != nil || len(mounts) == 0 {
		return d, errors.Join(errors.New("find its block device"), err)
	}
	d.block = mounts[0].Source
	return d, nil
}

// The commands of quotactl(2), for project quotas. The generic ones work on
// xfs as well.
const (
	projectQuotas = 2
	getQuota      = 0x800007<<8 | projectQuotas
	setQuota      = 0x800008<<8 | projectQuotas
	getState      = ('X'<<8+5)<<8 | projectQuotas
)

// diskQuota is the kernel's struct if_dqblk.
type diskQuota struct {
	hardBlocks, softBlocks uint64
	space                  uint64
	hardInodes, softInodes uint64
	inodes                 uint64
	_, _                   uint64
	valid                  uint32
	_                      uint32
}

const (
	quotaBlock  = 1024
	validLimits = 1 | 4 // of blocks, and of inodes
)

func (q diskQuota) free() bool {
	return q.hardBlocks|q.softBlocks|q.space|q.hardInodes|q.softInodes|q.inodes == 0
}

func (d device) call(command int, id uint32, args unsafe.Pointer) error {
	if d.block == "" {
		return inDir(d.dir, func(fd int) error {
			return errnoOf(unix.Syscall6(unix.SYS_QUOTACTL_FD, uintptr(fd), uintptr(command), uintptr(id), uintptr(args), 0, 0))
		})
	}
	path, err := unix.BytePtrFromString(d.block)
	if err != nil {
		return err
	}
	return errnoOf(unix.Syscall6(unix.SYS_QUOTACTL, uintptr(command), uintptr(unsafe.Pointer(path)), uintptr(id), uintptr(args), 0, 0))
}

func errnoOf(_, _ uintptr, errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// enforces says whether project quotas are counted and limits hold.
func (d device) enforces() (bool, error) {
	var state struct { // the start of struct fs_quota_stat
		_     int8
		flags uint16
		_     [252]byte
	}
	const accounted, enforced = 1 << 4, 1 << 5
	err := d.call(getState, 0, unsafe.Pointer(&state))
	return state.flags&(accounted|enforced) == accounted|enforced, err
}

func (d device) usage(id uint32) (q diskQuota, err error) {
	err = d.call(getQuota, id, unsafe.Pointer(&q))
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH): // nothing ever had it
		return diskQuota{}, nil
	case err != nil:
		return diskQuota{}, fmt.Errorf("read the quota of project %#x: %w", id, err)
	}
	return q, nil
}

// limit sets a project's limits. The kernel's word for none is 0, so that the
// smallest limit is 1.
func (d device) limit(id uint32, bytes, files int64) error {
	q := diskQuota{valid: validLimits}
	if bytes >= 0 {
		q.hardBlocks = max(1, uint64(bytes)/quotaBlock)
	}
	if files >= 0 {
		q.hardInodes = max(1, uint64(files))
	}
	if err := d.call(setQuota, id, unsafe.Pointer(&q)); err != nil {
		return fmt.Errorf("set the limits of project %#x: %w", id, err)
	}
	return nil
}
