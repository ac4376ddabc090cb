//go:build !unix

package execstream

import (
	"os"

	"github.com/forkbox/forkbox"
)

// Pair needs unix sockets.
func Pair() (*Link, *os.File, error) {
	return nil, nil, forkbox.Errorf(forkbox.Unsupported, "link to a box", "this system has no boxes")
}
