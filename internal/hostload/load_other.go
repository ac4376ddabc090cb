//go:build !linux

package hostload

import "github.com/forkbox/forkbox"

func look(string) (Load, error) {
	return Load{}, forkbox.Errorf(forkbox.Unsupported, "read the load of the host", "only Linux is known")
}
