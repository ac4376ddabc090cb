package review

import (
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
)

// Before yields what reality has at a changed path, and below a directory that
// the box replaced, deleted or moved, where that is what it was at the fence.
func (v *View) Before(e *Entry, yield func(forkbox.BaseSum, forkbox.Node)) error {
	if e.Kind == forkbox.Added || e.Drifted || e.Hidden || covered(e) != "" {
		return nil
	}
	old, err := e.Sides.Old()
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	at := e.Path
	if e.From != "" {
		at = e.From
	}
	if b, ok := v.sumOf(at, old); ok {
		yield(b, old)
	}
	goes := e.Kind == forkbox.Deleted || e.Kind == forkbox.Type || e.Kind == forkbox.Renamed
	if !old.Mode.IsDir() || !goes {
		return nil
	}
	closed := v.newClosed(e)
	return e.Sides.Below(func(p string, n forkbox.Node, kept bool) error {
		if closed.has(p, n) {
			return nil
		}
		p = at + strings.TrimPrefix(p, e.Path) // it is told by where the box had it
		if kept || v.sinceBelow(p, n) {
			return nil
		}
		if b, ok := v.sumOf(p, n); ok {
			yield(b, n)
		}
		return nil
	})
}

// asKnown says whether reality has at a path what an imported change was made
// to, byte for byte, and still is what was looked at: whatever is done to it
// from now on, the landing notices.
func (v *View) asKnown(p string, seen forkbox.Identity) bool {
	want, ok := v.Known[p]
	if !ok || v.Marks.landed(p) {
		return false // what landed since is the base now
	}
	st, err := os.Lstat(p)
	if err != nil || st.Mode() != want.Mode {
		return false
	}
	if st.IsDir() {
		return true
	}
	if st.Size() != want.Size {
		return false
	}
	n := forkbox.Node{Identity: seen, Mode: st.Mode()}
	got, ok := v.sumOf(p, n)
	return ok && bytes.Equal(got.Sum, want.Sum)
}

// sumOf reads what is at a path of reality. It says no where that is not what
// was seen, or not a file, a directory or a symlink.
func (v *View) sumOf(p string, seen forkbox.Node) (b forkbox.BaseSum, ok bool) {
	b = forkbox.BaseSum{Path: p, Mode: seen.Mode}
	switch seen.Mode.Type() {
	case fs.ModeDir:
		return b, true
	case fs.ModeSymlink:
		target, err := os.Readlink(p)
		sum := sha256.Sum256([]byte(target))
		b.Sum, b.Size = sum[:], int64(len(target))
		return b, err == nil && isStill(p, seen.Identity)
	case 0:
		f, err := OpenRegular(p)
		if err != nil {
			return b, false
		}
		defer f.Close()
		if !v.mayReadOpen(f) {
			return b, false // whether a guess at it is right would be told
		}
		h := sha256.New()
		b.Size, err = io.Copy(h, f)
		b.Sum = h.Sum(nil)
		return b, err == nil && isStill(p, seen.Identity)
	}
	return b, false
}

// isStill says whether what was seen at a path is untouched.
func isStill(p string, seen forkbox.Identity) bool {
	st, err := os.Lstat(p)
	if err != nil {
		return false
	}
	now, ok := identity(fs.FileInfoToDirEntry(st))
	return ok && now.Ino == seen.Ino && now.Ctime == seen.Ctime
}
