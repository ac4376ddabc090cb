package layers

import (
	"context"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
)

// driver is a way to keep tops and layers, and to make one of the other. Both
// are a directory with a directory "upper" in it.
type driver interface {
	name() string
	// stacks says that boxes lie over layers, so that a top can become a layer
	// by a rename. Else a box begins with a clone of its layer.
	stacks() bool
	// mkdir makes an empty directory that a top or a layer can be.
	mkdir(dir string) error
	// clone makes to a copy of from, which is of either kind. still says that
	// no process uses from: then what its owner may not read can be made
	// readable for a moment. What is left of an error is for the caller to
	// remove.
	clone(ctx context.Context, from, to string, still bool) error
	// try says why the driver does not work in a directory, if it does not.
	try(dir string) error
}

var drivers = []driver{overlay, btrfs{}, reflink, plainCopy}

// choose takes the driver that was asked for, or the best one.
func choose(name, dir string) (driver, string, error) {
	if name == "" {
		d, why := best(dir)
		return d, why, nil
	}
	const op = "open the store"
	for _, d := range drivers {
		if d.name() != name {
			continue
		}
		if err := d.try(dir); err != nil {
			return nil, "", forkbox.Errorf(forkbox.Unsupported, op, "layers cannot be kept by %q here: %w", name, err).
				Hint("leave the choice to forkbox, or move the store to a filesystem that can (FORKBOX_HOME)")
		}
		return d, "it was asked for", nil
	}
	return nil, "", forkbox.Errorf(forkbox.Invalid, op, "there is no way to keep layers called %q", name).
		Hint("there are overlay, btrfs, reflink and copy")
}

func best(dir string) (driver, string) {
	const byRename = "a snapshot is a rename"
	switch err := (btrfs{}).try(dir); {
	case err == nil:
		return btrfs{}, "the store lies on btrfs: a snapshot is one of a subvolume, of a running box as well"
	case errors.Is(err, errNotBtrfs):
		return overlay, "the default: " + byRename
	default:
		return overlay, "the store lies on btrfs, but has no subvolumes (" + err.Error() + "): " + byRename
	}
}

// Driver says how the store keeps its layers, and why that way:
//
//	overlay  boxes lie over layers; a snapshot of an idle box is a rename
//	btrfs    tops and layers are subvolumes, made of each other by snapshots
//	reflink  they are copies that share their blocks
//	copy     they are copies
func (s *Store) Driver() (name, why string) { return s.driver.name(), s.why }

// Stacks says whether boxes lie over layers. Else they begin as clones.
func (s *Store) Stacks() bool { return s.driver.stacks() }

// trees is the driver of those that copy file by file.
type trees struct {
	called string
	stack  bool
	share  sharing
}

// sharing is whether the blocks of a file are shared with its copy.
type sharing int

const (
	neverShare sharing = iota
	mayShare
	mustShare
)

func (t trees) name() string           { return t.called }
func (t trees) stacks() bool           { return t.stack }
func (t trees) mkdir(dir string) error { return os.Mkdir(dir, 0o700) }

func (t trees) clone(ctx context.Context, from, to string, still bool) error {
	if err := t.mkdir(to); err != nil {
		return err
	}
	return cloneTree(ctx, from, to, t.share, still)
}

func (t trees) try(dir string) error {
	if t.share != mustShare {
		return nil
	}
	return trySharing(dir)
}

// plainCopy copies trees byte by byte. It works everywhere, and costs time and
// space like nothing else does.
var plainCopy = trees{called: "copy", share: neverShare}

// overlay lets boxes lie over layers: the top of an idle box becomes a layer
// by a rename. The top of a busy one is copied, with shared blocks where the
// filesystem has them.
var overlay = trees{called: "overlay", stack: true, share: mayShare}

// reflink copies trees file by file, and the files share their blocks until
// one of them is written to. It is for hosts where overlays cannot be stacked.
var reflink = trees{called: "reflink", share: mustShare}

// btrfs makes tops and layers subvolumes, and one of the other by a snapshot:
// that takes the same time whatever is in it and is written to it meanwhile.
// The snapshots are writable: a layer's redirects are rewritten when the
// directories of reality that they lead to have moved.
type btrfs struct{}

func (btrfs) name() string { return "btrfs" }
func (btrfs) stacks() bool { return false }

var errNotBtrfs = errors.New("the store does not lie on btrfs")
