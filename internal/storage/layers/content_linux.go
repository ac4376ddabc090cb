package layers

import (
	"errors"

	"github.com/forkbox/forkbox/internal/storage/filecopy"
	"golang.org/x/sys/unix"
)

// content copies a file's bytes, by sharing them where that is wanted.
func (c *cloner) content(dst, src int, size int64) error {
	if c.share == neverShare || size == 0 {
		return filecopy.Copy(c.ctx, dst, src, size)
	}
	err := filecopy.Share(dst, src)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL): // this file is special: it is not to be copied on write
	case !errors.Is(err, filecopy.ErrNoSharing):
		return err
	case c.share == mustShare:
		return err
	default:
		c.share = neverShare
	}
	return filecopy.Copy(c.ctx, dst, src, size)
}

// trySharing shares a block in a directory of the store.
func trySharing(dir string) error { return filecopy.TrySharing(dir) }
