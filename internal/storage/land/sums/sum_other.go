//go:build !linux

package sums

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
)

// Of is not there on this system.
func Of(context.Context, *os.File) ([32]byte, error) {
	return [32]byte{}, forkbox.Errorf(forkbox.Unsupported, "sum a file", "it takes Linux")
}
