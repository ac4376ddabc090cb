//go:build !linux

package server

import (
	"net"
	"runtime"

	"github.com/forkbox/forkbox"
)

// peer cannot know who connected, so no client is served.
func (c *userCache) peer(net.Conn) (forkbox.Owner, error) {
	return forkbox.Owner{}, forkbox.Errorf(forkbox.Unsupported, "serve", "peer credentials are not read on %s yet", runtime.GOOS)
}
