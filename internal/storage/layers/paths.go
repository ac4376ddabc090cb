package layers

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// none stands in for an id that is not one. No id begins with a dot, so
// nothing is ever made there and nothing outside the store is ever named.
const none = ".invalid"

// paths says where in a store's home things lie.
type paths struct{ home string }

// Dir is all of a box. Like the paths below it lies in the store whatever id
// is: a string that is not an id leads to a place where nothing is.
func (p *paths) Dir(id string) string { return filepath.Join(p.boxes(), safe(id)) }

// Top is what the box itself has written, all that a snapshot takes. It is one
// directory, because overlayfs renames between what is in it: on btrfs it is
// one subvolume.
func (p *paths) Top(id string) string { return filepath.Join(p.Dir(id), "top") }

// Upper holds one upper directory per filesystem, named by [Escape].
func (p *paths) Upper(id string) string { return filepath.Join(p.Top(id), "upper") }

// Work holds overlayfs's own directories, named as in Upper.
func (p *paths) Work(id string) string { return filepath.Join(p.Top(id), "work") }

// Base holds what is known of reality as it was when the box was forked.
func (p *paths) Base(id string) string { return filepath.Join(p.Dir(id), "base") }

// Log is the file that an exec's output is kept in.
func (p *paths) Log(id, exec string) string {
	return filepath.Join(p.Dir(id), safe(exec)+".log")
}

// Layer holds one directory per filesystem that the layer has anything of,
// named by [Escape].
func (p *paths) Layer(layer string) string { return filepath.Join(p.layer(layer), "upper") }

// Root is the root directory of an image.
func (p *paths) Root(name string) string {
	if !validRoot(name) {
		name = none
	}
	return filepath.Join(p.roots(), name)
}

// Records is where the store says of itself what the ledger says of it.
func (p *paths) Records() string { return filepath.Join(p.home, "records") }

func (p *paths) layer(layer string) string { return filepath.Join(p.layers(), safe(layer)) }

func (p *paths) boxes() string  { return filepath.Join(p.home, "boxes") }
func (p *paths) layers() string { return filepath.Join(p.home, "layers") }
func (p *paths) roots() string  { return filepath.Join(p.home, "roots") }
func (p *paths) trash() string  { return filepath.Join(p.home, "trash") }

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

// maxName is the longest file name Linux filesystems take.
const maxName = 255

// Escape makes a file name of a mount point, as systemd-escape --path does:
// "/" is "-", "/home" is "home", "/mnt/a-b" is `mnt-a\x2db`. Every mount point
// has exactly one name and [Unescape] gives it back. A name that would be too
// long is refused: a hash could not be read back, and mount points are short.
func Escape(mount string) (string, error) {
	const op = "name the filesystem's directory"
	if !path.IsAbs(mount) || path.Clean(mount) != mount || strings.IndexByte(mount, 0) >= 0 {
		return "", forkbox.Errorf(forkbox.Invalid, op, "%q is not a clean absolute path", mount)
	}
	if mount == "/" {
		return "-", nil
	}
	name := escape(mount[1:])
	if len(name) > maxName {
		return "", forkbox.Errorf(forkbox.Unsupported, op, "the mount point %q is too long: %d bytes escaped, %d at most", mount, len(name), maxName)
	}
	return name, nil
}

func escape(rel string) string {
	var b strings.Builder
	for i, c := range []byte(rel) {
		switch {
		case c == '/':
			b.WriteByte('-')
		case plain(c) && !(i == 0 && c == '.'):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

func plain(c byte) bool {
	return alphanumeric(c) || c == ':' || c == '_' || c == '.'
}

// Unescape is the inverse of [Escape]. What Escape does not make is an error.
func Unescape(name string) (string, error) {
	if name == "-" {
		return "/", nil
	}
	mount := "/" + unescape(name)
	// Escaping again is the whole check: it accepts one spelling per mount
	// point, so two directories can never claim the same filesystem.
	if again, err := Escape(mount); err != nil || again != name {
		return "", forkbox.Errorf(forkbox.Internal, "read the box's filesystems", "%q is not the name of an upper directory", name)
	}
	return mount, nil
}

func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '-' {
			c = '/'
		} else if n, ok := hexAt(name, i); ok {
			c, i = n, i+3
		}
		b.WriteByte(c)
	}
	return b.String()
}

// hexAt reads `\xNN` at i.
func hexAt(name string, i int) (byte, bool) {
	if !strings.HasPrefix(name[i:], `\x`) || len(name) < i+4 {
		return 0, false
	}
	n, err := strconv.ParseUint(name[i+2:i+4], 16, 8)
	return byte(n), err == nil
}
