//go:build linux

package agent

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/boxfiles"
)

// mostHardLinks is how many files with several names are remembered, so that an
// archive has them once. Further ones are in it under each name.
const mostHardLinks = 100_000

// packer writes an archive of a tree. Of a directory the names are relative to it,
// and its own entry is "./"; of anything else there is one entry, its name.
type packer struct {
	tar   *tar.Writer
	buf   []byte
	links map[[2]uint64]string
	out   boxfiles.Outcome
}

func tarOut(w io.Writer, root string) (boxfiles.Outcome, error) {
	p := &packer{tar: tar.NewWriter(w), buf: make([]byte, boxfiles.DataFrame), links: map[[2]uint64]string{}}
	st, err := statAt(unix.AT_FDCWD, root)
	if err == nil && strings.HasSuffix(root, "/") && typeOf(&st) == boxfiles.Symlink {
		err = unix.Stat(root, &st)
	}
	if err != nil {
		return p.out, err
	}
	if typeOf(&st) == boxfiles.Directory {
		err = p.top(root)
	} else {
		parent, base := path.Split(root)
		err = p.single(parent, base)
	}
	if err == nil {
		err = p.tar.Close()
	}
	return p.out, err
}

func (p *packer) top(root string) error {
	dir, err := openDir(unix.AT_FDCWD, root, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return p.directory(dir, "")
}

func (p *packer) single(parent, base string) error {
	dir, err := openDir(unix.AT_FDCWD, parent, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := p.entry(dir, "", base); err != nil {
		return err
	}
	if len(p.out.Skipped) > 0 {
		return refuse("something that no archive has: " + p.out.Skipped[0].Why)
	}
	return nil
}

// directory packs an open directory with what is below it.
func (p *packer) directory(dir int, prefix string) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return at(prefix, err)
	}
	name := prefix
	if name == "" {
		name = "./"
	}
	h := header(name, &st)
	h.Typeflag, h.Size = tar.TypeDir, 0
	h.PAXRecords = attributes(dir)
	if err := p.begin(h); err != nil {
		return err
	}
	for from := ""; ; {
		list, err := firstNames(dir, from, chunk)
		if err != nil {
			return at(prefix, err)
		}
		for _, name := range list {
			if err := p.entry(dir, prefix, name); err != nil {
				return err
			}
		}
		if len(list) < chunk {
			return nil
		}
		from = list[len(list)-1]
	}
}

// entry packs one name of a directory. What is gone meanwhile is left out; what
// cannot be read is, too, and said.
func (p *packer) entry(dir int, prefix, name string) error {
	st, err := statAt(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return p.skip(prefix+name, err)
	}
	h := header(prefix+name, &st)
	switch typeOf(&st) {
	case boxfiles.Directory:
		child, err := openDir(dir, name, unix.O_NOFOLLOW)
		if err != nil {
			return p.skip(prefix+name, err)
		}
		defer unix.Close(child)
		return p.directory(child, prefix+name+"/")
	case boxfiles.File:
		return p.file(dir, name, h, &st)
	case boxfiles.Symlink:
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(readLink(dir, name)), 0
	case boxfiles.Fifo:
		h.Typeflag, h.Size = tar.TypeFifo, 0
	case boxfiles.Socket:
		return p.skip(prefix+name, errors.New(boxfiles.WhySocket))
	default:
		return p.skip(prefix+name, errors.New("it is a device"))
	}
	return p.begin(h)
}

func (p *packer) skip(name string, err error) error {
	p.out.Count++
	if len(p.out.Skipped) < boxfiles.MaxSkipped {
		p.out.Skipped = append(p.out.Skipped, boxfiles.Skipped{Path: []byte(name), Why: explain(err).Why})
	}
	return nil
}

func (p *packer) begin(h *tar.Header) error {
	if err := p.tar.WriteHeader(h); err != nil {
		if p.tar.Flush() != nil {
			return errGone
		}
		return at(h.Name, err)
	}
	return nil
}

// file packs a regular file: once, if it has several names.
func (p *packer) file(dir int, name string, h *tar.Header, st *unix.Stat_t) error {
	key := [2]uint64{st.Dev, st.Ino}
	if first, known := p.links[key]; known && st.Nlink > 1 {
		h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
		return p.begin(h)
	}
	file, opened, err := openFile(dir, name, unix.O_NOFOLLOW)
	if err != nil {
		return p.skip(h.Name, err)
	}
	defer file.Close()
	if opened.Nlink > 1 && len(p.links) < mostHardLinks {
		p.links[[2]uint64{opened.Dev, opened.Ino}] = h.Name
	}
	named := h.Name
	h = header(named, &opened)
	h.Typeflag = tar.TypeReg
	h.PAXRecords = attributes(int(file.Fd()))
	if err := p.begin(h); err != nil {
		return err
	}
	return p.content(file, h.Size)
}

// content packs as much of a file as its entry says: one that is written
// meanwhile is cut, or filled up with zeros.
func (p *packer) content(file *os.File, size int64) error {
	for done := int64(0); done < size; {
		piece := p.buf[:min(int64(len(p.buf)), size-done)]
		n, err := file.ReadAt(piece, done)
		if err != nil && err != io.EOF {
			return at(file.Name(), err)
		}
		if n == 0 {
			clear(piece)
			n = len(piece)
		}
		if _, err := p.tar.Write(piece[:n]); err != nil {
			return errGone
		}
		done += int64(n)
	}
	return nil
}

func header(name string, st *unix.Stat_t) *tar.Header {
	return &tar.Header{
		Name: name, Mode: int64(st.Mode & 0o7777), Size: st.Size, Uid: int(st.Uid), Gid: int(st.Gid),
		ModTime: time.Unix(st.Mtim.Unix()), Format: tar.FormatPAX,
	}
}

// xattrPrefix is how archives have extended attributes, and userAttribute which
// of them are taken along: those that a user may set.
const (
	xattrPrefix   = "SCHILY.xattr."
	userAttribute = "user."
	mostAttribute = 64 << 10
)

// attributes are those of an open file, as records of its entry.
func attributes(fd int) map[string]string {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	list := make([]byte, size)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return nil
	}
	records := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:size]), "\x00"), "\x00") {
		// Others are the system's, or those by which an overlay knows its own.
		if !strings.HasPrefix(name, userAttribute) || strings.HasPrefix(name, "user.overlay.") || strings.Contains(name, "=") {
			continue
		}
		value := make([]byte, mostAttribute)
		if n, err := unix.Fgetxattr(fd, name, value); err == nil {
			records[xattrPrefix+name] = string(value[:n])
		}
	}
	return records
}
