//go:build unix

package vault

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/forkbox/forkbox"
)

// prepare makes the directory, and refuses one that others can look into.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return forkbox.Errorf(forkbox.Invalid, "open the vault", "%s is not a directory", dir)
	}
	return private(dir, info)
}

// private refuses what is not ours alone. What others can write they chose; what
// they can read is no secret.
func private(path string, info fs.FileInfo) error {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case uid != os.Geteuid():
		return forkbox.Errorf(forkbox.Denied, "open the vault", "%s belongs to uid %d, not to the daemon's user %d", path, uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return forkbox.Errorf(forkbox.Denied, "open the vault", "others have rights to %s (%s)", path, info.Mode().Perm()).
			Hint("chmod go-rwx %q, and think about who may have read it", path)
	}
	return nil
}

// readOwn reads a file that is ours alone. The checks are made on what was
// opened; a link is not followed, a fifo not waited for.
func readOwn(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a plain file", path)
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	return readShort(path, f, most)
}

func readShort(path string, f io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return content, err
}

// withLock runs do while nothing else writes to the vault: no goroutine, no
// process.
func (v *Vault) withLock(do func() error) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	f, err := os.OpenFile(filepath.Join(v.dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // and with it the lock
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return do()
		}
		if err != syscall.EINTR {
			return fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
	}
}
