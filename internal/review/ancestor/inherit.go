package ancestor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// HandDown has one box's book begin with all that another one's has: they were
// forked at the same fence, one from the other. Records are never changed in
// place, so both can have the same files.
func HandDown(from, to string) error {
	from, to = filepath.Join(from, "book"), filepath.Join(to, "book")
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing is known, or was replaced meanwhile
		}
		if err != nil {
			return err
		}
		target := to + path[len(from):]
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if strings.HasPrefix(d.Name(), newPrefix) {
			return nil // it is being made
		}
		if err := os.Link(path, target); !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
