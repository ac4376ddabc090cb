//go:build linux

package agent

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// failures are the errors of the kernel that a caller can do something about.
var failures = []struct {
	errno unix.Errno
	code  forkbox.Code
	why   string
	hint  string
}{
	{unix.ENOENT, forkbox.NotFound, "there is no such file or directory in the box", ""},
	{unix.ENOTDIR, forkbox.Invalid, "a part of the path is no directory", ""},
	{unix.EISDIR, forkbox.Invalid, "it is a directory", ""},
	{unix.EEXIST, forkbox.Exists, "it is there already", ""},
	{unix.ENOTEMPTY, forkbox.Busy, "the directory is not empty", "remove it with what is in it: recursive=1, or rm -r"},
	{unix.EACCES, forkbox.Denied, "the box's user may not: permission denied", ""},
	{unix.EPERM, forkbox.Denied, "the box's user may not: operation not permitted", ""},
	{unix.EROFS, forkbox.Denied, "it is on a read-only filesystem of the box", ""},
	{unix.ELOOP, forkbox.Invalid, "too many symlinks lead there", ""},
	{unix.ENAMETOOLONG, forkbox.Invalid, "the name is too long", ""},
	{unix.ENOSPC, forkbox.Busy, "there is no room left in the box", "forkbox show BOX says how much it may have"},
	{unix.EDQUOT, forkbox.Busy, "the box's limit of disk is met", "raise it: forkbox set BOX --disk SIZE"},
	{unix.EBUSY, forkbox.Busy, "it is a mount point of the box, which cannot be replaced", "write to it with a command: forkbox exec BOX -- tee PATH"},
	{unix.EXDEV, forkbox.Invalid, "it would lead out of the directory", ""},
}

// explain is an error as the daemon is told it. The daemon says what could not
// be done.
func explain(err error) *forkbox.Error {
	var known *forkbox.Error
	if errors.As(err, &known) {
		return known
	}
	var at *fs.PathError
	for _, f := range failures {
		if !errors.Is(err, f.errno) {
			continue
		}
		why := f.why
		if errors.As(err, &at) && at.Op == inside {
			why = at.Path + ": " + why
		}
		e := forkbox.Errorf(f.code, "", "%s", why)
		if f.hint != "" {
			e.Hint("%s", f.hint)
		}
		return e
	}
	return forkbox.Errorf(forkbox.Internal, "", "%w", err)
}

// inside is the operation of an error that is about a path below the one that was
// asked for.
const inside = "inside"

// at names the path below the one that was asked for.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	var known *forkbox.Error
	if errors.As(err, &known) {
		return err
	}
	return &fs.PathError{Op: inside, Path: path, Err: err}
}

// refuse is an error of something that is none of the files that can be read or
// written.
func refuse(what string) error {
	return forkbox.Errorf(forkbox.Invalid, "", "it is %s, not a file", what).
		Hint("only files have content that can be read and written so; for others run a command: forkbox exec")
}
