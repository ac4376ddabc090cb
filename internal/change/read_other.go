//go:build !linux

package change

import (
	"context"

	"github.com/forkbox/forkbox"
)

func read(context.Context, Source, func(forkbox.Change) error) (effort, error) {
	return effort{}, forkbox.Errorf(forkbox.Unsupported, "read the box's changes", "overlay layers can be read on Linux only")
}
