package oci

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
)

// ErrLeaveOut is what place answers for a path that is not to be unpacked.
var ErrLeaveOut = errors.New("left out")

// Form is how something is unpacked. Every field may be zero.
type Form struct {
	Limits Limits
	// Owner, if there is one, owns every file, and no file is setuid or setgid
	// or has capabilities: somebody without rights brings these files into
	// what a daemon with all rights runs. Without one, owners are as in the
	// archive if this process is root, and else its own.
	Owner *forkbox.Owner
	// XattrPrefix is how overlayfs's own attributes are to begin, for
	// UnpackLayer: "trusted.overlay." or "user.overlay.".
	XattrPrefix string
	// Parent describes a directory of the machine that the layer has something
	// in and says nothing of itself: it has to look as it does without the
	// layer. If nil, or for what is not there, it is an ordinary directory.
	Parent func(path string) (forkbox.Node, error)
}

// Unpacked is what came of unpacking.
type Unpacked struct {
	Entries int64
	Bytes   int64
	Left    Left
}

// UnpackRoot lays all layers, the bottom one first, into an empty directory,
// and does what their whiteouts say. Device nodes are counted and not made.
func UnpackRoot(ctx context.Context, dir string, layers []Layer, f Form) (Unpacked, error) {
	u, err := unpackRoot(ctx, dir, layers, f)
	return u, forkbox.Wrap(opUnpack, err)
}

// UnpackLayer unpacks one layer as overlayfs has it: deleted files are
// whiteouts, and directories can be opaque. place says where an absolute path
// belongs: in which directory, and as what below it ("" is the directory
// itself).
func UnpackLayer(ctx context.Context, l Layer, place func(path string) (dir, rel string, err error), f Form) (Unpacked, error) {
	u, err := unpackLayer(ctx, l, place, f)
	return u, forkbox.Wrap(opUnpack, err)
}
