package ancestor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

const opPin = "keep the base of a file"

const (
	maxCopy  = 1 << 20  // copied where the filesystem cannot share blocks
	maxClone = 64 << 20 // shared; it must be read once, and again to be merged
)

// Pin keeps the content that reality has at path, when it is certain that it
// is what it was at the fence: its inode last changed before the fence, and it
// was the same before and after it was copied. A file is cloned where the
// filesystem can, else copied if it is at most 1 MiB; a symlink's target is
// kept. What is uncertain, too large, cannot be opened or has no content is
// not pinned, and that is no error. A path that has a pin keeps it.
func (b *Book) Pin(path string, node forkbox.Node, open func() (*os.File, error)) error {
	s := b.slot(path)
	link := node.Mode.Type() == fs.ModeSymlink
	switch {
	case !link && !node.Mode.IsRegular() && !node.Mode.IsDir(), node.Size > maxClone, !s.settled(node), s.taken():
		return nil
	case node.Mode.IsDir():
		return s.pinBytes(nil, node.Mode) // that is all there is to it
	case link:
		return s.pinBytes([]byte(node.Target), node.Mode)
	}
	f, err := open()
	if err != nil {
		return nil
	}
	defer f.Close()
	return s.pinFile(node, f)
}

// settled says whether a node is as it was at the fence.
func (s slot) settled(node forkbox.Node) bool {
	return git.Settled(time.Unix(0, node.Ctime), s.fence)
}

// errUnpinned says that a file was left out, for a good reason.
var errUnpinned = errors.New("not pinned")

func (s slot) pinFile(node forkbox.Node, f *os.File) error {
	var sum string
	err := put(s.dir, func(to *os.File) (name string, err error) {
		if !same(f, node.Identity) {
			return "", errUnpinned
		}
		if sum, err = duplicate(to, f, node.Size); err != nil {
			return "", err
		}
		if !same(f, node.Identity) {
			return "", errUnpinned
		}
		return s.contentName(sum), nil
	})
	if errors.Is(err, errUnpinned) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.replace(pin{Mode: uint32(node.Mode), Sum: sum})
}

// duplicate makes to what from is, and returns the hash of it as it can be
// read back.
func duplicate(to, from *os.File, size int64) (sum string, err error) {
	if clone(to, from) != nil {
		if size > maxCopy {
			return "", errUnpinned
		}
		if _, err := io.Copy(to, io.NewSectionReader(from, 0, size)); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(to, 0, maxClone+1))
	if err == nil && n != size {
		err = errUnpinned // it is being written to
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// PinBytes sets the base of a path, whatever was known before: after a sync or
// a partial apply, the base is what the caller says. mode has the type: a
// regular file's, or a symlink's whose target is content.
func (b *Book) PinBytes(path string, content []byte, mode fs.FileMode) error {
	if !mode.IsRegular() && mode.Type() != fs.ModeSymlink {
		return forkbox.Errorf(forkbox.Invalid, opPin, "%q is neither a file nor a symlink", path)
	}
	return b.slot(path).pinBytes(content, mode)
}

func (s slot) pinBytes(content []byte, mode fs.FileMode) error {
	sum := hash(content)
	err := put(s.dir, func(to *os.File) (string, error) {
		_, err := to.Write(content)
		return s.contentName(sum), err
	})
	if err != nil {
		return err
	}
	return s.replace(pin{Mode: uint32(mode), Sum: sum})
}

// PinAbsent sets the base of a path: nothing was there. It is the caller who
// knows, as after a sync with a reality that has no such path.
func (b *Book) PinAbsent(path string) error {
	return b.slot(path).replace(pin{Absent: true})
}

// PinMissing does so when it is certain: path is missing in reality, and the
// directory that it would be in (or, if that is missing too, the nearest one
// that is there) has not changed since the fence. parent must have been looked
// at after path was found missing. Otherwise nothing is pinned. A path that
// has a pin keeps it.
func (b *Book) PinMissing(path string, parent forkbox.Node) error {
	s := b.slot(path)
	if !parent.Mode.IsDir() || !s.settled(parent) || s.taken() {
		return nil
	}
	return s.replace(pin{Absent: true})
}

// Unpin forgets the pin of a path, if there is one.
func (b *Book) Unpin(path string) error {
	s := b.slot(path)
	old, state := s.find()
	err := os.Remove(filepath.Join(s.dir, s.name))
	if state == there {
		s.removeContent(old)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return forkbox.Wrap("forget the base of a file", err)
}
