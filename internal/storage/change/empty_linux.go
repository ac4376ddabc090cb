package change

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Empty says whether a directory of a box has no entries: nothing was written
// to that filesystem, but perhaps to the attributes of its root. What is not
// there is empty.
func Empty(dir string) (bool, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, forkbox.Errorf(forkbox.Internal, "look into the layer", "open %s: %w", dir, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096) // the first names are enough
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, forkbox.Errorf(forkbox.Internal, "look into the layer", "%s: %w", dir, err)
		case n <= 0:
			return true, nil
		}
		if _, _, names := unix.ParseDirent(buf[:n], -1, nil); len(names) > 0 {
			return false, nil
		}
	}
}
