package oci

import (
	"archive/tar"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// Exporting is a snapshot on its way out.
type Exporting struct {
	// Spool is a directory for the blobs until they are written: their sizes
	// and digests have to be known first. Nothing stays in it.
	Spool  string
	Layers []Stratum // the bottom one first
	Image  Image
}

// Stratum is a layer to be written, and how its trees are to be read.
type Stratum struct {
	Trees []Tree
	Options
}

// Export writes an image as one archive.
func Export(ctx context.Context, w io.Writer, e Exporting) (Left, error) {
	dir, err := os.MkdirTemp(e.Spool, ".export-")
	if err != nil {
		return Left{}, forkbox.Wrap(opWrite, err)
	}
	defer os.RemoveAll(dir)
	l, left, err := Build(ctx, dir, e)
	if err != nil {
		return left, err
	}
	return left, l.WriteArchive(ctx, w)
}

// Build makes a layout of a snapshot; Spool is not used.
func Build(ctx context.Context, dir string, e Exporting) (*Layout, Left, error) {
	var left Left
	l, err := CreateLayout(dir)
	if err != nil {
		return nil, left, err
	}
	var blobs []Blob
	for _, s := range e.Layers {
		b, err := l.AddLayer(ctx, s.Trees, s.Options)
		if err != nil {
			return nil, left, err
		}
		left.add(b.Left)
		blobs = append(blobs, b)
	}
	_, err = l.AddImage(ctx, e.Image, blobs)
	return l, left, err
}

func (l *Left) add(more Left) {
	l.Sockets += more.Sockets
	l.Devices += more.Devices
	l.Xattrs += more.Xattrs
	l.Paths += more.Paths
}

// WriteArchive writes the layout, and of its blobs those that its images need,
// as a tar.
func (l *Layout) WriteArchive(ctx context.Context, w io.Writer) error {
	blobs, err := l.reachable()
	if err != nil {
		return forkbox.Wrap(opWrite, err)
	}
	a := &archiver{ctx: ctx, l: l, tw: tar.NewWriter(w)}
	for _, name := range []string{layoutFile, indexFile} {
		if err := a.file(name); err != nil {
			return forkbox.Wrap(opWrite, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		if err := a.blob(name); err != nil {
			return forkbox.Wrap(opWrite, err)
		}
	}
	return forkbox.Wrap(opWrite, a.tw.Close())
}

type archiver struct {
	ctx     context.Context
	l       *Layout
	tw      *tar.Writer
	folders []string
}

// blob writes a blob after the directories that it is in: skopeo makes missing
// ones for root, which fails where it is not root.
func (a *archiver) blob(name string) error {
	algorithm, _ := splitPath(name)
	for _, dir := range []string{blobsDir, algorithm} {
		if slices.Contains(a.folders, dir) {
			continue
		}
		a.folders = append(a.folders, dir)
		if err := a.tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
	}
	return a.file(name)
}

func (a *archiver) file(name string) error {
	f, err := a.l.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0)}
	if err := a.tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(a.tw, &ctxReader{a.ctx, f}, info.Size())
	return err
}

// reachable names the files of all blobs that the images of a layout need.
func (l *Layout) reachable() (map[string]bool, error) {
	index := emptyIndex()
	if err := l.readJSON(indexFile, index); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	return names, l.reach(index.Manifests, names, 0)
}

func (l *Layout) reach(list []Descriptor, names map[string]bool, depth int) error {
	if depth > 3 {
		return forkbox.Errorf(forkbox.Invalid, opRead, "its lists of images are too deep")
	}
	for _, d := range list {
		name, err := blobName(d.Digest)
		if err != nil {
			return err
		}
		names[name] = true
		switch {
		case IsIndex(d.MediaType):
			var inner Index
			if err := l.readBlobJSON(d, &inner); err != nil {
				return err
			}
			if err := l.reach(inner.Manifests, names, depth+1); err != nil {
				return err
			}
		case IsManifest(d.MediaType):
			m, err := l.Manifest(d)
			if err != nil {
				return err
			}
			if err := l.reach(append(m.Layers, m.Config), names, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
