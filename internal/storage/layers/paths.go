package layers

import (
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// none stands in for an id that is not one. No id begins with a dot, so
// nothing is ever made there and nothing outside the store is ever named.
const none = ".invalid"

// Dir is all of a box. Like the paths below it lies in the store whatever id
// is: a string that is not an id leads to a place where nothing is.
func (s *Store) Dir(id string) string { return filepath.Join(s.boxes(), safe(id)) }

// Top is what the box itself has written, all that a snapshot takes. It is one
// directory, because overlayfs renames between what is in it: on btrfs it is
// one subvolume.
func (s *Store) Top(id string) string { return filepath.Join(s.Dir(id), "top") }

// Upper holds one upper directory per filesystem, named by [Escape].
func (s *Store) Upper(id string) string { return filepath.Join(s.Top(id), "upper") }

// Work holds overlayfs's own directories, named as in Upper.
func (s *Store) Work(id string) string { return filepath.Join(s.Top(id), "work") }

// Base holds what is known of reality as it was when the box was forked.
func (s *Store) Base(id string) string { return filepath.Join(s.Dir(id), "base") }

// Log is the file that an exec's output is kept in.
func (s *Store) Log(id, exec string) string {
	return filepath.Join(s.Dir(id), safe(exec)+".log")
}

// Layer holds one directory per filesystem that the layer has anything of,
// named by [Escape].
func (s *Store) Layer(layer string) string { return filepath.Join(s.layer(layer), "upper") }

// Root is the root directory of an image.
func (s *Store) Root(name string) string {
	if !validRoot(name) {
		name = none
	}
	return filepath.Join(s.roots(), name)
}

// Records is where the store says of itself what the ledger says of it.
func (s *Store) Records() string { return filepath.Join(s.home, "records") }

func (s *Store) layer(layer string) string { return filepath.Join(s.layers(), safe(layer)) }

func (s *Store) boxes() string  { return filepath.Join(s.home, "boxes") }
func (s *Store) layers() string { return filepath.Join(s.home, "layers") }
func (s *Store) roots() string  { return filepath.Join(s.home, "roots") }
func (s *Store) trash() string  { return filepath.Join(s.home, "trash") }

func safe(id string) string {
	if ValidID(id) {
		return id
	}
	return none
}

// ValidID says whether id can name a box, a layer or an exec: letters, digits,
// dashes and underscores, so that no id is a path.
func ValidID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// validRoot is more generous than [ValidID]: a digest is "sha256:…".
func validRoot(name string) bool {
	if name == "" || len(name) > 160 || name[0] == '.' {
		return false
	}
	for _, c := range []byte(name) {
		if !plain(c) && c != '-' {
			return false
		}
	}
	return true
}

func checkID(op string, ids ...string) error {
	for _, id := range ids {
		if !ValidID(id) {
			return forkbox.Errorf(forkbox.Invalid, op, "%q is not an id", id)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// exists says whether anything is there, if only a symlink that leads nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
