package land

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// failed makes an error of what the kernel said about a path.
func failed(op, p string, err error) error {
	var done *forkbox.Error
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.Is(err, unix.ELOOP):
		return conflict(op, p, "a symlink is where a directory was")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return conflict(op, p, "the directory that it was in is gone")
	case errors.Is(err, unix.EEXIST):
		return conflict(op, p, "something else is there by now")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		return forkbox.Errorf(forkbox.Denied, op, "%q: %w", p, err).About(p, err.Error())
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return forkbox.Errorf(forkbox.Internal, op, "%q: %w", p, err).About(p, err.Error()).Hint("free some space on its filesystem")
	case errors.Is(err, unix.EBUSY):
		return forkbox.Errorf(forkbox.Busy, op, "%q: something is mounted there", p).About(p, "something is mounted there")
	case errors.Is(err, unix.EXDEV):
		return forkbox.Errorf(forkbox.Unsupported, op, "%q: its filesystem lets nothing be moved there: %w", p, err).About(p, err.Error())
	case errors.Is(err, unix.ENOSYS):
		return forkbox.Errorf(forkbox.Unsupported, op, "%q: %w", p, err).Hint("Linux 5.6 or later is needed")
	}
	return forkbox.Errorf(forkbox.Internal, op, "%q: %w", p, err).About(p, err.Error())
}

// wrap is [forkbox.Wrap] for what is not about one path. That a disk is full
// comes from the store's as well as from that of the tree.
func wrap(op string, err error) error {
	var known *forkbox.Error
	if errors.As(err, &known) || !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return forkbox.Wrap(op, err)
	}
	return forkbox.Errorf(forkbox.Internal, op, "%w", err).
		Hint("free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it").
		Hint("if the store has room, the disk of what is to change has none")
}

func conflict(op, p, why string) error {
	return forkbox.Errorf(forkbox.Conflict, op, "%q: %s", p, why).About(p, why)
}

// besides adds what went wrong afterwards, if anything did.
func besides(err, also error) error {
	if also == nil {
		return err
	}
	return errors.Join(err, also)
}

func refused(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOENT)
}

// damaged is the error for a journal that makes no sense.
func damaged(dir string, err error) error {
	return forkbox.Errorf(forkbox.Internal, opRead, "the journal in %s is damaged: %w", dir, errors.Join(err, unix.EBADMSG))
}

// tornError says why something failed, and what could not be put back then.
func tornError(op string, cause error, torn []forkbox.Caution) error {
	e := forkbox.Errorf(forkbox.Conflict, op, "%w; then the tree changed, and %d paths could not be put back; nothing is lost", cause, len(torn))
	var why *forkbox.Error
	if errors.As(cause, &why) {
		e.Items = append(e.Items, why.Items...)
	}
	e.Items = append(e.Items, torn...)
	return e
}

// unreadable forgives what the caller may not look at: it is not counted.
func unreadable(err error) error {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
