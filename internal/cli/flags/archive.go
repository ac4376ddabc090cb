package flags

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Archive is a tar of the caller's, read with the caller's own rights.
type Archive struct {
	io.ReadCloser
	Name string // for people
	Size int64  // zero where that is not known
}

// OpenArchive opens a file, "-" for stdin, or, where an image may be one, the
// directory of an OCI layout.
func OpenArchive(arg string, image bool) (*Archive, error) {
	op := "read " + terminal.Printable(arg)
	if arg == "-" {
		if terminal.IsTerminal(os.Stdin) {
			return nil, forkbox.Errorf(forkbox.Invalid, "read an archive", "stdin is a terminal")
		}
		return &Archive{io.NopCloser(os.Stdin), "stdin", 0}, nil
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, cannotRead(op, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, cannotRead(op, err)
	case info.IsDir() && image:
		f.Close()
		return openLayout(arg)
	case info.IsDir():
		f.Close()
		return nil, forkbox.Errorf(forkbox.Invalid, op, "it is a directory").Hint("to make a box of one: --from dir:%s", arg)
	case !info.Mode().IsRegular():
		return &Archive{f, arg, 0}, nil
	}
	return &Archive{f, arg, info.Size()}, nil
}

// openLayout is a tar of a layout's directory, made while it is read.
func openLayout(dir string) (*Archive, error) {
	op := "read the image layout " + terminal.Printable(dir)
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "it has no file oci-layout").
			Hint("to make a box of a plain directory: --from dir:%s", dir)
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(forkbox.Wrap(op, writeLayout(w, os.DirFS(dir))))
	}()
	return &Archive{r, dir, 0}, nil
}

// writeLayout writes what a layout consists of and nothing else that may lie in
// its directory.
func writeLayout(w io.Writer, layout fs.FS) error {
	out := tar.NewWriter(w)
	for _, part := range []string{"oci-layout", "index.json", "blobs"} {
		// A walk begins with what a link leads to; further down it does not.
		if info, err := fs.Lstat(layout, part); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return notAFile(part)
		}
		err := fs.WalkDir(layout, part, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			return writeEntry(out, layout, name, entry)
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// writeEntry refuses everything but files: a link may lead out of the layout.
func writeEntry(out *tar.Writer, layout fs.FS, name string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		return notAFile(name)
	}
	f, err := layout.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, info.Size())
	return err
}

func notAFile(name string) error {
	return forkbox.Errorf(forkbox.Invalid, "read the image layout", "%s is not a file", terminal.Printable(name)).
		Hint("links in a layout are not followed")
}

func cannotRead(op string, err error) error {
	code := forkbox.Invalid
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = forkbox.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = forkbox.Denied
	}
	return forkbox.Errorf(code, op, "%w", err)
}
