package land

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// alsoSync remembers the filesystem of something that is changed in place,
// for no staging directory may be on it.
func (s *site) alsoSync(p string, o *object) {
	if _, known := s.extra[o.Dev]; known {
		return
	}
	dir := p
	if !o.isDir() {
		dir = path.Dir(p)
	}
	fd, err := s.tree.resolve(strings.TrimPrefix(dir, "/"), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		fd = -1 // may not be read: everything is synced instead
	}
	s.extra[o.Dev] = fd
}

// syncAll makes what was done durable on every filesystem that was touched.
func (s *site) syncAll() error {
	synced := map[uint64]bool{}
	for _, p := range s.places {
		if p.fd < 0 || synced[p.mount.dev] {
			continue
		}
		synced[p.mount.dev] = true
		if err := syncFilesystem(p.fd); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "make %q durable: %w", p.In, err)
		}
	}
	for dev, fd := range s.extra {
		if synced[dev] {
			continue
		}
		if fd < 0 {
			unix.Sync()
			continue
		}
		if err := syncFilesystem(fd); err != nil {
			return forkbox.Errorf(forkbox.Internal, opLand, "make the changes durable: %w", err)
		}
	}
	return nil
}
