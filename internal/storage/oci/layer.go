package oci

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

const (
	opWrite  = "write the image"
	opRead   = "read the image"
	opUnpack = "unpack the image"
)

// Tree is what a layer holds of one filesystem.
type Tree struct {
	Mount string // where the filesystem is mounted: "/", "/home"
	Dir   string // the layer's directory of it
}

// Options say how to read trees.
type Options struct {
	// XattrPrefix is how overlayfs's own attributes begin: "trusted.overlay."
	// or "user.overlay.". Without one the trees are plain directories, such as
	// a base: nothing in them is a whiteout or opaque.
	XattrPrefix string
	// Owner says whose a file is to be on other machines; as it is here if
	// nil. A rootless box has all its files from the one user who runs it.
	Owner func(uid, gid int) (int, int)
	// Reader, if there is one, is whom it is read for by a process with more
	// rights: what they may not read themselves is refused.
	Reader *forkbox.Owner
}

// Blob is a layer as it was written.
type Blob struct {
	Descriptor Descriptor
	DiffID     Digest // of the tar before it was compressed
	Left       Left
}

// Left counts what an archive does not hold, or what was not made of it.
type Left struct {
	Sockets int `json:"sockets,omitempty"` // there is no such thing in a tar
	Devices int `json:"devices,omitempty"`
	Xattrs  int `json:"xattrs,omitempty"` // that the filesystem cannot hold
	Paths   int `json:"paths,omitempty"`  // that the caller wanted to be left out
}

// ErrRedirect says that a directory in a layer was moved there from somewhere
// else in the base. No archive can say that: flatten the layer first, with its
// moved directories written out in full.
var ErrRedirect = errors.New("a directory in it was renamed, which an image cannot express")

// WriteLayer writes one layer as a compressed tar. The same trees always make
// the same bytes.
func WriteLayer(ctx context.Context, w io.Writer, trees []Tree, o Options) (Blob, error) {
	ordered, err := orderTrees(trees)
	if err != nil {
		return Blob{}, err
	}
	s, err := newSink(w)
	if err != nil {
		return Blob{}, forkbox.Wrap(opWrite, err)
	}
	left, err := writeTrees(ctx, s, ordered, o)
	if err != nil {
		s.abandon()
		return Blob{}, forkbox.Wrap(opWrite, err)
	}
	blob, err := s.finish()
	blob.Left = left
	return blob, forkbox.Wrap(opWrite, err)
}

// orderTrees sorts by mount, so that a directory comes before what is mounted
// in it.
func orderTrees(trees []Tree) ([]Tree, error) {
	ordered := slices.Clone(trees)
	slices.SortFunc(ordered, func(a, b Tree) int { return strings.Compare(a.Mount, b.Mount) })
	for i, t := range ordered {
		if !path.IsAbs(t.Mount) || path.Clean(t.Mount) != t.Mount {
			return nil, forkbox.Errorf(forkbox.Invalid, opWrite, "%q is not where a filesystem can be mounted", t.Mount)
		}
		if i > 0 && ordered[i-1].Mount == t.Mount {
			return nil, forkbox.Errorf(forkbox.Invalid, opWrite, "the layer has two trees for %q", t.Mount)
		}
	}
	return ordered, nil
}

// inside is a mount as names in an archive begin: "/home" is "home", "/" is "".
func inside(mount string) string { return strings.TrimPrefix(mount, "/") }

// below puts a name into a directory of an archive.
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
