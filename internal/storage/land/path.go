package land

import (
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

// checkPath refuses what could mean anything but one place.
func checkPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.IndexByte(p, 0) >= 0 {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q is not a clean absolute path", p)
	}
	return nil
}

func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// rebase moves p from below one directory to below another.
func rebase(p, from, to string) string {
	rest := strings.TrimPrefix(p[len(strings.TrimSuffix(from, "/")):], "/")
	if rest == "" {
		return to
	}
	return join(to, rest)
}
