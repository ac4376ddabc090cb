//go:build !linux

package layers

import (
	"context"

	"github.com/forkbox/forkbox"
)

func removeTree(context.Context, string, string) error {
	return forkbox.Errorf(forkbox.Unsupported, "delete a box's files", "the store of overlay layers works on Linux only")
}
