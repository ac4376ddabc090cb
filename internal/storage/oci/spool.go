package oci

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

// ReadArchive reads an archive of an image layout into an empty directory.
// Every blob is what its name says, or the archive is refused and the
// directory is emptied.
func ReadArchive(ctx context.Context, r io.Reader, dir string, limits Limits) (*Layout, error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "%q, which it was to be read into, is not empty", dir)
	}
	l, err := CreateLayout(dir)
	if err != nil {
		return nil, forkbox.Wrap(opRead, err)
	}
	a := &arrival{l: l, guard: newGuard(limits)}
	if err := a.read(ctx, r); err != nil {
		return nil, errors.Join(forkbox.Wrap(opRead, err), empty(dir))
	}
	return l, nil
}

// empty removes what is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// arrival is an archive being read.
type arrival struct {
	l      *Layout
	guard  *guard
	layout bool // it has the file that says it is an image layout
	index  bool
	docker bool // it has the file that such an archive of docker's has
}

func (a *arrival) read(ctx context.Context, r io.Reader) error {
	s, err := PlainTar(func() (io.ReadCloser, error) { return io.NopCloser(r), nil }).stream(ctx, a.guard)
	if err != nil {
		return err
	}
	defer s.close()
	if err := a.entries(tar.NewReader(s)); err != nil {
		return err
	}
	return a.judge()
}

func (a *arrival) entries(tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if err := a.guard.entry(h); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue // a blob that is not there is missed later
		}
		if err := a.entry(strings.TrimPrefix(h.Name, "./"), tr, h.Size); err != nil {
			return err
		}
	}
}

// entry keeps what belongs to a layout, and nothing else.
func (a *arrival) entry(name string, r io.Reader, size int64) error {
	switch name {
	case layoutFile:
		a.layout = true
		return a.readDocument(name, r, &layoutHeader{})
	case indexFile:
		a.index = true
		return a.readDocument(name, r, &Index{})
	case "manifest.json":
		a.docker = true
		return nil
	}
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != blobsDir {
		return nil
	}
	d := Digest(parts[1] + ":" + parts[2])
	if d.Validate() != nil {
		return nil // an index cannot refer to it
	}
	return a.blob(d, r, size)
}

func (a *arrival) readDocument(name string, r io.Reader, v any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return damaged(err)
	}
	if err := parseJSON(name, data, v); err != nil {
		return err
	}
	return a.l.writeJSON(name, v)
}

func (a *arrival) blob(d Digest, r io.Reader, size int64) error {
	v, err := newVerifier(r, Descriptor{Digest: d, Size: size})
	if err != nil {
		return err
	}
	algorithm := filepath.Join(a.l.dir, blobsDir, d.Algorithm())
	if err := os.MkdirAll(algorithm, 0o700); err != nil {
		return err
	}
	return a.l.spool(func(w io.Writer) (Digest, error) {
		_, err := io.Copy(w, v)
		return d, damaged(err)
	})
}

// judge says what it was that came, if it was no image layout.
func (a *arrival) judge() error {
	switch {
	case a.layout && a.index:
		return nil
	case a.docker && !a.layout:
		return forkbox.Errorf(forkbox.Unsupported, opRead, "it is an archive in docker's own form, not an OCI image").
			Hint("turn it into one: skopeo copy docker-archive:FILE oci-archive:NEW")
	case a.layout:
		return forkbox.Errorf(forkbox.Invalid, opRead, "it has no %s: it is cut off, or was packed wrongly", indexFile)
	}
	return forkbox.Errorf(forkbox.Invalid, opRead, "it is not an image: it has no file %s", layoutFile).
		Hint("a tar of a root filesystem can be the base of a box: forkbox new --from tar:FILE")
}
