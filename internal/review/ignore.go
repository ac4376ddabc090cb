package review

import (
	"context"
	"io"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// ReadIgnore reads an ignore file of reality. Anything but a regular file is
// not there: a fifo would keep us waiting, and git follows no symlink either.
func ReadIgnore(path string) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIgnore))
}

// sameOther says whether reality has at a path what a node is that is no
// regular file.
func sameOther(path string, n forkbox.Node) bool {
	st, err := os.Lstat(path)
	if err != nil || st.Mode() != n.Mode {
		return false
	}
	if n.Mode&os.ModeSymlink == 0 {
		return true
	}
	target, err := os.Readlink(path)
	return err == nil && target == n.Target
}

// sameFile says whether an open file has the content and mode of a node.
func sameFile(f *os.File, n forkbox.Node, open func() (*os.File, error)) bool {
	st, err := f.Stat()
	if err != nil || st.Size() != n.Size || st.Mode() != n.Mode {
		return false
	}
	other, err := open()
	if err != nil {
		return false
	}
	defer other.Close()
	a, err := land.Sum(context.Background(), f)
	b, err2 := land.Sum(context.Background(), other)
	return err == nil && err2 == nil && a == b
}
