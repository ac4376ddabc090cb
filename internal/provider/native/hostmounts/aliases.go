//go:build linux

package hostmounts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// A filesystem can be mounted more than once, and a directory bound elsewhere:
// what is hidden at one path would be there at another. So it is hidden where
// its filesystem shows it, by every mount.

// Placed is which part of which filesystem a mount shows where.
type Placed struct{ dev, root, point string }

func placedOf(info *mountinfo.Info) Placed {
	return Placed{fmt.Sprint(info.Major, ":", info.Minor), info.Root, info.Mountpoint}
}

// shows is where the mount has a directory or file of its filesystem: at a path
// in it, or the whole mount is a part of that directory.
func (m Placed) shows(dev, inner string) (path string, whole bool) {
	switch {
	case m.dev != dev:
	case Below(inner, m.root):
		return filepath.Join(m.point, strings.TrimPrefix(inner, strings.TrimSuffix(m.root, "/"))), false
	case Below(m.root, inner):
		return m.point, true
	}
	return "", false
}

// Aliases are the other paths that lead to what is at path, or to something
// that is mounted below it.
func Aliases(mounts []Placed, path string) (list []string) {
	var at Placed
	parts := []Placed{}
	for _, m := range mounts {
		switch {
		case Below(path, m.point) && len(m.point) >= len(at.point):
			at = m // of several on one point the last is on top
		case Below(m.point, path):
			parts = append(parts, m)
		}
	}
	if at.point == "" {
		return nil
	}
	inner := filepath.Join(at.root, strings.TrimPrefix(path, strings.TrimSuffix(at.point, "/")))
	for _, part := range append(parts, Placed{at.dev, inner, path}) {
		for _, m := range mounts {
			other, whole := m.shows(part.dev, part.root)
			if other != "" && !Below(other, path) && !Below(path, other) && (whole || sameFile(other, part.point)) {
				list = append(list, other)
			}
		}
	}
	return list
}

// Repeated says whether any filesystem is mounted twice. Where none is, there
// is nothing to look for.
func Repeated(mounts []Placed) bool {
	seen := map[string]bool{}
	for _, m := range mounts {
		if seen[m.dev] {
			return true
		}
		seen[m.dev] = true
	}
	return false
}

// sameFile says whether two paths lead to one file: at a path where another
// mount lies on top there is something else.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
