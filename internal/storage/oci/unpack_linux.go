package oci

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// unpacker makes files of archives.
type unpacker struct {
	ctx    context.Context
	form   Form
	guard  *guard
	ground ground
	// overlay says that what is gone is marked, as overlayfs has it, and not
	// removed.
	overlay bool
	// literal says that names are only names: in a plain tar none of them
	// means that something was deleted.
	literal bool
	rights  rights
	// folders are to get their attributes at the end: until then everything
	// has to be writable, and making files changes their times.
	folders map[inode]*pending
	made    map[slot]bool // what this layer made; nil where nothing is below it
	buf     []byte
	out     Unpacked
}

// slot is a name in a directory. Paths would not do: one directory can have
// several, through symlinks.
type slot struct {
	dir  inode
	name string
}

func newUnpacker(ctx context.Context, f Form) *unpacker {
	return &unpacker{
		ctx: ctx, form: f, guard: newGuard(f.Limits), rights: rightsOf(f.Owner),
		folders: map[inode]*pending{}, buf: make([]byte, 64<<10),
	}
}

func unpackRoot(ctx context.Context, dir string, layers []Layer, f Form) (Unpacked, error) {
	u := newUnpacker(ctx, f)
	root, err := openTop(dir)
	if err != nil {
		return u.out, err
	}
	defer unix.Close(root)
	if names, err := linux.List(root); err != nil || len(names) > 0 {
		return u.out, errors.Join(err, forkbox.Errorf(forkbox.Invalid, opUnpack, "%q, which it was to be unpacked into, is not empty", dir))
	}
	u.ground = &wholeRoot{fd: root}
	for i, l := range layers {
		if i > 0 {
			u.made = map[slot]bool{}
		}
		if err := u.layer(l); err != nil {
			return u.out, err
		}
	}
	return u.out, u.finish()
}

func unpackLayer(ctx context.Context, l Layer, place func(string) (string, string, error), f Form) (Unpacked, error) {
	u := newUnpacker(ctx, f)
	if f.XattrPrefix == "" {
		return u.out, forkbox.Errorf(forkbox.Internal, opUnpack, "nothing says how overlayfs's attributes begin")
	}
	spread := &spreadLayer{place: place, tops: map[string]int{}}
	defer spread.close()
	u.ground, u.overlay = spread, true
	if err := u.layer(l); err != nil {
		return u.out, err
	}
	return u.out, u.finish()
}

func openTop(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fd, nil
}

func (u *unpacker) layer(l Layer) error {
	s, err := l.stream(u.ctx, u.guard)
	if err != nil {
		return err
	}
	defer s.close()
	u.literal = l.Descriptor.Digest == ""
	before := u.out.Entries
	if err := u.entries(tar.NewReader(bufio.NewReaderSize(s, 256<<10))); err != nil {
		return err
	}
	if u.literal && u.out.Entries == before {
		return forkbox.Errorf(forkbox.Invalid, opUnpack, "there is nothing in the archive")
	}
	return s.finish()
}

func (u *unpacker) entries(tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := u.guard.entry(h); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		u.out.Entries++
		err = u.entry(h, tr)
		if errors.Is(err, ErrLeaveOut) {
			u.out.Left.Paths++
			continue
		}
		if err != nil {
			return unmade(h.Name, err)
		}
	}
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	path, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if !u.literal {
		whiteout, opaque, note, err := deletes(path)
		dir, _ := splitPath(path)
		switch {
		case err != nil || note:
			return err
		case opaque:
			return u.opaque(dir)
		case whiteout != "":
			return u.whiteout(below(dir, whiteout))
		}
	}
	return u.put(path, h, r)
}

// finish gives directories their attributes, the innermost first: a directory
// may shut itself against us.
func (u *unpacker) finish() error {
	for _, p := range deepestFirst(u.folders) {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := u.dressFolder(p); err != nil {
			return unmade(p.path, err)
		}
	}
	return nil
}

// unmade says which path it was about, in words where they help.
func unmade(path string, err error) error {
	var e *forkbox.Error
	switch {
	case errors.As(err, &e), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, unix.ELOOP):
		return refused(path, "a symlink is in its way")
	case errors.Is(err, unix.EXDEV):
		return refused(path, "it leads out of the directory it is for")
	case errors.Is(err, unix.ENOTDIR):
		return refused(path, "what it should be in is not a directory")
	case errors.Is(err, unix.ENAMETOOLONG):
		return refused(path, "the name is too long")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return forkbox.Errorf(forkbox.Denied, opUnpack, "%.200q: %w", path, err)
	}
	return forkbox.Errorf(forkbox.Internal, opUnpack, "%.200q: %w", path, err)
}
