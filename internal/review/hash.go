package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/sums"
)

// Hash is of what a box has at the paths of a review: every byte that would
// land, and every attribute. Two reviews of the same selection have the same
// hash exactly when the box is the same.
type Hash struct{ sum hash.Hash }

// NewHash starts one.
func NewHash() *Hash { return &Hash{sha256.New()} }

// Add takes a change in. content is the sum of what the box's file holds.
func (h *Hash) Add(e *Entry, content [32]byte) error {
	if e.Kind == forkbox.Deleted {
		h.write("deleted", e.Path)
		return nil
	}
	n, err := e.New()
	if err != nil {
		return err
	}
	h.write("is", e.Path, e.From, e.Link, n.Mode.String(), n.UID, n.GID, n.Rdev, n.Target, hex.EncodeToString(content[:]))
	for _, name := range slices.Sorted(maps.Keys(n.Xattrs)) {
		h.write("xattr", name, string(n.Xattrs[name]))
	}
	return nil
}

// write keeps fields apart by their quotes.
func (h *Hash) write(fields ...any) {
	for _, f := range fields {
		fmt.Fprintf(h.sum, "%q ", fmt.Sprint(f))
	}
	io.WriteString(h.sum, "\n")
}

// String is the hash as users pass it on.
func (h *Hash) String() string { return "sha256:" + hex.EncodeToString(h.sum.Sum(nil)) }

// ContentSum is [sums.Of] of what the box's file holds; zero for what holds
// nothing.
func ContentSum(ctx context.Context, e *Entry) (sum [32]byte, err error) {
	if e.Type != "file" || e.Kind == forkbox.Deleted {
		return sum, nil
	}
	f, err := e.Sides.OpenNew()
	if err != nil {
		return sum, err
	}
	defer f.Close()
	return sums.Of(ctx, f)
}

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
	a, err := sums.Of(context.Background(), f)
	b, err2 := sums.Of(context.Background(), other)
	return err == nil && err2 == nil && a == b
}
