package layers

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

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
