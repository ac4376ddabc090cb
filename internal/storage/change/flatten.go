package change

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Flattening is a stack of layers to make one of.
type Flattening struct {
	// Layers are the directories of one filesystem's layers, the topmost
	// first. They need not go down to the base: what lies below them takes its
	// place.
	Layers []string
	// Into is an existing, empty directory. It becomes the one layer, and gets
	// the attributes of the topmost one's root.
	Into string
	// XattrPrefix is as in [Source].
	XattrPrefix string
	// Base is the directory of the base for this filesystem. It is used with
	// Expand only.
	Base string
	// Hidden are paths from the root of the filesystem, as "/home/u/.ssh",
	// whose base the box was not shown. With Expand they are written out
	// empty: a moved directory must not take secrets along.
	Hidden []string
	// Expand writes moved directories out in full, from the layers and Base,
	// so that no redirect is left: other formats know none.
	Expand bool
	// Copy copies files. Without it they are hard links to those of the
	// layers, which costs neither time nor space, and is safe as long as no
	// layer is written to.
	Copy bool
}

// Flatten makes one layer that overlayfs shows exactly as the stack of several:
// content, attributes, times, hard links and holes. The layers are not changed.
// When it fails or is cancelled, what is in Into is of no use.
func Flatten(ctx context.Context, f Flattening) error {
	return forkbox.Wrap("flatten the layers", flatten(ctx, f))
}
