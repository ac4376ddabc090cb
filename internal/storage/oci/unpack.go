package oci

import (
	"context"
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
)

// ErrLeaveOut is what place answers for a path that is not to be unpacked.
var ErrLeaveOut = errors.New("left out")

// Form is how something is unpacked. Every field may be zero.
type Form struct {
	Limits Limits
	// Owner, if there is one, owns every file, and no file is setuid or setgid
	// or has capabilities: a user without rights brings these files into what a
	// daemon with all rights runs. Without one, owners are as in the archive if
	// this process is root, and else its own.
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

// cleanName is a name in an archive as a path below the root, "" for the root
// itself. A leading "/" or "./" means nothing; a name that climbs is an attack.
func cleanName(name string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return "", refused(name, "it climbs out of the directory it is for")
		case strings.Contains(part, "\x00"):
			return "", refused(name, "no file can have that name")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/"), nil
}

// splitPath takes the last name off a path.
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// deletes says what a name deletes in the layers below: a name in its
// directory, or everything ("" and opaque). note is one that says nothing to
// us.
func deletes(path string) (whiteout string, opaque, note bool, err error) {
	dir, name := splitPath(path)
	for part := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return "", false, false, refused(path, "it lies below a file that only says what was deleted")
		}
	}
	switch {
	case name == opaqueName:
		return "", true, false, nil
	case strings.HasPrefix(name, unionPrefix):
		return "", false, true, nil
	}
	whiteout, ok := strings.CutPrefix(name, whiteoutPrefix)
	if ok && (whiteout == "" || whiteout == "." || whiteout == "..") {
		return "", false, false, refused(path, "it deletes no name that a file can have")
	}
	if !ok {
		return "", false, false, nil
	}
	return whiteout, false, false, nil
}

func refused(path, why string) error {
	return forkbox.Errorf(forkbox.Invalid, opUnpack, "%.200q: %s", path, why)
}
