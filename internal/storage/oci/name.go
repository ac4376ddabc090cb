package oci

import (
	"strings"

	"github.com/forkbox/forkbox"
)

// cleanName is a name in an archive as a path below the root, "" for the root
// itself. A leading "/" or "./" means nothing; a name that climbs is an attack.
func cleanName(name string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return "", refused(name, "it climbs out of the directory it is for")
		case strings.Contains(part, "\x00"):
			return "", refused(name, "no file can have that name")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/"), nil
}

// splitPath takes the last name off a path.
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// deletes says what a name deletes in the layers below: a name in its
// directory, or everything ("" and opaque). note is one that says nothing to
// us.
func deletes(path string) (whiteout string, opaque, note bool, err error) {
	dir, name := splitPath(path)
	for part := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return "", false, false, refused(path, "it lies below a file that only says what was deleted")
		}
	}
	switch {
	case name == opaqueName:
		return "", true, false, nil
	case strings.HasPrefix(name, unionPrefix):
		return "", false, true, nil
	}
	whiteout, ok := strings.CutPrefix(name, whiteoutPrefix)
	if ok && (whiteout == "" || whiteout == "." || whiteout == "..") {
		return "", false, false, refused(path, "it deletes no name that a file can have")
	}
	if !ok {
		return "", false, false, nil
	}
	return whiteout, false, false, nil
}

func refused(path, why string) error {
	return forkbox.Errorf(forkbox.Invalid, opUnpack, "%.200q: %s", path, why)
}
