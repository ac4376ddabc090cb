package copying

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
)

// byEngine has each service write the copy of its data. It may refuse, as a
// database does whose owner may not replicate: then another way is left.
func (t *taking) byEngine(ctx context.Context) error {
	t.taken.At = time.Now()
	t.taken.Files, t.taken.Bytes, t.taken.of = 0, 0, map[string]int64{}
	for _, s := range t.sources {
		if s.PID == 0 {
			continue
		}
		before := t.taken.Bytes
		if err := t.runOnline(ctx, s); err != nil {
			return unfit{err}
		}
		t.taken.of[filepath.Clean(s.Paths[0])] = t.taken.Bytes - before
	}
	return t.restOnline(ctx)
}

// restOnline copies what belongs to services that do not run.
func (t *taking) restOnline(ctx context.Context) error {
	var rest []Source
	for _, s := range t.sources {
		if s.PID == 0 {
			rest = append(rest, s)
		}
	}
	items := itemsOf(rest)
	for i := range items {
		if items[i].to = t.copyOf(items[i].from); items[i].to == "" {
			return forkbox.Errorf(forkbox.Unsupported, opTake, "%s lies in the data of another service", items[i].from)
		}
	}
	m := newMirror(mayShare)
	err := m.pass(ctx, items, false, nil)
	t.taken.Files += m.files
	t.taken.Bytes += m.bytes
	maps.Copy(t.taken.of, m.of)
	return err
}

func (t *taking) copyOf(from string) string {
	for _, it := range t.items {
		if it.from == filepath.Clean(from) {
			return it.to
		}
	}
	return ""
}

// runOnline runs a service's own command, and keeps what it writes.
func (t *taking) runOnline(ctx context.Context, s Source) error {
	to := t.copyOf(s.Paths[0])
	if to == "" {
		return forkbox.Errorf(forkbox.Unsupported, opTake, "%s lies in the data of another service", s.Paths[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // should what it writes not be wanted any more
	cmd := exec.CommandContext(ctx, s.Online.Argv[0], s.Online.Argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = 5 * time.Second
	if s.UID != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.UID), Gid: uint32(s.GID)}}
	}
	var said tail
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return forkbox.Errorf(forkbox.Unsupported, opTake, "%s: %w", s.Online.Argv[0], err)
	}
	err = t.keep(s, to, out)
	cut := errors.Is(err, io.ErrUnexpectedEOF) // then it ended by itself, and says why
	if err != nil && !cut {
		cancel()
	}
	if ended := cmd.Wait(); ended != nil && (err == nil || cut) {
		err = forkbox.Errorf(forkbox.Unsupported, opTake, "%s: %w: %s", filepath.Base(s.Online.Argv[0]), ended, said.text())
	}
	return err
}

// keep writes to disk what a command writes.
func (t *taking) keep(s Source, to string, from io.Reader) error {
	if s.Online.Gives == "tar" {
		return t.unpack(s, to, from)
	}
	if filepath.Base(s.Paths[0]) != s.Online.Gives {
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if err := os.Chown(to, s.UID, s.GID); err != nil {
			return err
		}
		to = filepath.Join(to, s.Online.Gives)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o660)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(f, from)
	t.taken.Files++
	t.taken.Bytes += n
	return errors.Join(err, f.Chown(s.UID, s.GID))
}

// unpack writes the files of an archive. It was written by a process of the
// service's user and may have any names: none leads out of the directory. All is
// that user's, whatever the archive says.
func (t *taking) unpack(s Source, to string, from io.Reader) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for in := tar.NewReader(from); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return forkbox.Errorf(forkbox.Unsupported, opTake, "%s wrote no whole archive: %w", filepath.Base(s.Online.Argv[0]), err)
		}
		name := filepath.Clean(h.Name)
		if name == "." || dropped(s.Drop, name) {
			continue
		}
		if err := t.unpackOne(s, root, name, h, in); err != nil {
			return err
		}
	}
	// Blocks of zeros may follow; who writes them waits for them to be read.
	if _, err := io.Copy(io.Discard, from); err != nil {
		return err
	}
	return dressLike(s.Paths[0], to)
}

func (t *taking) unpackOne(s Source, root *os.Root, name string, h *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode & 0o777)
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeSymlink:
		return errors.Join(root.Symlink(h.Linkname, name), root.Lchown(name, s.UID, s.GID))
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		n, err := io.Copy(f, content)
		t.taken.Files++
		t.taken.Bytes += n
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	default:
		return nil
	}
	return errors.Join(root.Chown(name, s.UID, s.GID), root.Chmod(name, mode), root.Chtimes(name, h.ModTime, h.ModTime))
}

// dressLike gives a directory the attributes of another.
func dressLike(from, to string) error {
	src, err := linux.OpenAt(unix.AT_FDCWD, from, unix.O_RDONLY|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return &os.PathError{Op: "open", Path: from, Err: err}
	}
	defer unix.Close(src)
	dst, err := os.Open(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	buf := make([]byte, filecopy.XattrMax)
	attrs, err := filecopy.Handle{FD: src, Real: true}.Read(buf)
	if err != nil {
		return err
	}
	return filecopy.Handle{FD: int(dst.Fd()), Real: true}.Redress(attrs, buf)
}

// tail keeps the end of what a command says.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 2 << 10
	t.kept = append(t.kept, p...)
	if more := len(t.kept) - most; more > 0 {
		t.kept = t.kept[more:]
	}
	return len(p), nil
}

func (t *tail) text() string { return strings.TrimSpace(string(t.kept)) }
