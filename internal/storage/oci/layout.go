package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/forkbox/forkbox"
)

// Layout is a directory in the form of an OCI image layout.
type Layout struct{ dir string }

// maxJSON bounds an index, a manifest or a configuration. Registries refuse
// manifests above 4 MiB.
const maxJSON = 4 << 20

// CreateLayout makes an empty layout. One that is there is used.
func CreateLayout(dir string) (*Layout, error) {
	l := &Layout{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, blobsDir, "sha256"), 0o700); err != nil {
		return nil, forkbox.Wrap(opWrite, err)
	}
	if err := l.ensure(layoutFile, layoutHeader{Version: layoutVersion}); err != nil {
		return nil, forkbox.Wrap(opWrite, err)
	}
	err := l.ensure(indexFile, emptyIndex())
	return l, forkbox.Wrap(opWrite, err)
}

// OpenLayout opens a layout that is there.
func OpenLayout(dir string) (*Layout, error) {
	l := &Layout{dir: dir}
	var layout layoutHeader
	err := l.readJSON(layoutFile, &layout)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "%q is not an image layout: it has no file %q", dir, layoutFile)
	}
	if err != nil {
		return nil, err
	}
	if layout.Version != layoutVersion {
		return nil, forkbox.Errorf(forkbox.Unsupported, opRead, "%q is an image layout of version %.20q, and this program knows only %q", dir, layout.Version, layoutVersion)
	}
	return l, nil
}

// Dir is where the layout lies.
func (l *Layout) Dir() string { return l.dir }

func emptyIndex() *Index {
	return &Index{SchemaVersion: 2, MediaType: MediaTypeIndex, Manifests: []Descriptor{}}
}

func (l *Layout) ensure(name string, v any) error {
	if _, err := os.Lstat(filepath.Join(l.dir, name)); err == nil {
		return nil
	}
	return l.writeJSON(name, v)
}

// writeJSON replaces a file as a whole.
func (l *Layout) writeJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(l.dir, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(l.dir, name))
}

// open opens a file of the layout for reading. A stranger may have made the
// directory: no symlink leads out of it, and a fifo does not block.
func (l *Layout) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, forkbox.Errorf(forkbox.Invalid, opRead, "%q in it is not a file", name))
	}
	return f, nil
}

func (l *Layout) readJSON(name string, v any) error {
	f, err := l.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err != nil {
		return err
	}
	return parseJSON(name, data, v)
}

func parseJSON(name string, data []byte, v any) error {
	if len(data) > maxJSON {
		return forkbox.Errorf(forkbox.Invalid, opRead, "%s has more than %d bytes", name, maxJSON)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return forkbox.Errorf(forkbox.Invalid, opRead, "%s is damaged: %w", name, err)
	}
	return nil
}

// blobName is where a blob lies in a layout.
func blobName(d Digest) (string, error) {
	if err := d.Validate(); err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, opRead, "%.100q: %w", d, err)
	}
	return blobsDir + "/" + d.Algorithm() + "/" + d.Encoded(), nil
}

// BlobPath is where a blob lies, or would lie.
func (l *Layout) BlobPath(d Digest) (string, error) {
	name, err := blobName(d)
	return filepath.Join(l.dir, filepath.FromSlash(name)), err
}

// CheckBlob reads a blob and says whether it is what it should be.
func (l *Layout) CheckBlob(ctx context.Context, d Descriptor) error {
	f, err := l.OpenBlob(d)
	if err != nil {
		return err
	}
	defer f.Close()
	v, err := newVerifier(&ctxReader{ctx, f}, d)
	if err == nil {
		_, err = io.Copy(io.Discard, v)
	}
	return err
}

// OpenBlob opens a blob. Nothing of it is compared with its digest.
func (l *Layout) OpenBlob(d Descriptor) (*os.File, error) {
	name, err := blobName(d.Digest)
	if err != nil {
		return nil, err
	}
	f, err := l.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "the image has no %s, which it refers to", d.Digest)
	}
	return f, err
}

// ReadBlob reads a small blob, and refuses one that is not what it should be.
func (l *Layout) ReadBlob(d Descriptor) ([]byte, error) {
	if d.Size > maxJSON || d.Size < 0 {
		return nil, forkbox.Errorf(forkbox.Invalid, opRead, "%s is said to have %d bytes, and may have %d", d.Digest, d.Size, maxJSON)
	}
	f, err := l.OpenBlob(d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := newVerifier(f, d)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(v)
}

// PutBlob adds a small blob.
func (l *Layout) PutBlob(ctx context.Context, mediaType string, data []byte) (Descriptor, error) {
	d := Descriptor{MediaType: mediaType, Digest: FromBytes(data), Size: int64(len(data))}
	return d, l.spool(func(w io.Writer) (Digest, error) {
		_, err := io.Copy(w, &ctxReader{ctx, bytes.NewReader(data)})
		return d.Digest, err
	})
}

// spool writes a blob whose digest is known at the end.
func (l *Layout) spool(write func(io.Writer) (Digest, error)) error {
	f, err := os.CreateTemp(filepath.Join(l.dir, blobsDir), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	d, err := write(f)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	name, err := blobName(d)
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(l.dir, filepath.FromSlash(name)))
}
