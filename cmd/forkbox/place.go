package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// place is where the caller stands: what paths on the command line are relative
// to, and what shown paths are.
type place struct{ dir string }

// here is the current directory by its real name: a box knows no other. It is
// empty where there is none; then paths must be absolute and are shown so.
func here() place {
	dir, err := os.Getwd()
	if err != nil {
		return place{}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return place{dir}
}

// paths makes what the command line says absolute.
func (p place) paths(args []string) (forkbox.Strings, error) {
	var list forkbox.Strings
	for _, arg := range args {
		path, err := p.path(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, path)
	}
	return list, nil
}

// changed says whether a box changed a path, or something below it.
type changed func(path string) bool

// changedIn asks the box, about paths that can mean two things only.
func changedIn(ctx context.Context, c *client.Client, ref string) changed {
	return func(path string) bool {
		found := errors.New("found")
		_, err := c.Changes(ctx, ref, forkbox.DiffSpec{Selection: forkbox.Selection{Paths: forkbox.Strings{path}}}, func(forkbox.Change) error { return found })
		return errors.Is(err, found)
	}
}

// pathsIn are the paths of a box that the command line means.
func (p place) pathsIn(args []string, changed changed) (forkbox.Strings, error) {
	var list forkbox.Strings
	for _, arg := range args {
		path, err := p.pathIn(arg, changed)
		if err != nil {
			return nil, err
		}
		list = append(list, path)
	}
	return list, nil
}

// pathIn is path, but where a box has a directory of its own in place of a link
// of reality: what is below that is meant as it is written.
func (p place) pathIn(arg string, changed changed) (string, error) {
	path, err := p.path(arg)
	if err != nil {
		return path, err
	}
	written := filepath.Clean(arg)
	if !filepath.IsAbs(written) {
		written = filepath.Join(p.dir, written)
	}
	if changed != nil && written != path && changed(written) {
		return written, nil
	}
	return path, nil
}

// path is arg, absolute and clean, below the real name of its directory as far
// as that exists. Its last name is not followed: the link itself may be what
// was changed. With a slash at the end, what it leads to is meant.
func (p place) path(arg string) (string, error) {
	switch {
	case arg == "":
		return "", forkbox.Errorf(forkbox.Invalid, "find a path", "it is empty")
	case strings.ContainsRune(arg, 0):
		return "", forkbox.Errorf(forkbox.Invalid, "find path "+printable(arg), "it has a NUL byte")
	case filepath.IsAbs(arg):
	case p.dir == "":
		return "", forkbox.Errorf(forkbox.Invalid, "find path "+arg, "the current directory is gone").
			Hint("give an absolute path")
	}
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	path = filepath.Clean(path)
	if strings.HasSuffix(arg, "/") {
		return realPrefix(path), nil
	}
	dir, name := filepath.Split(path)
	return filepath.Join(realPrefix(filepath.Clean(dir)), name), nil
}

// realPrefix resolves the symlinks of as much of path as exists.
func realPrefix(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(path)
	if name == "" {
		return path
	}
	return filepath.Join(realPrefix(filepath.Clean(dir)), name)
}

// show is a path as the caller would type it here: relative when it is below
// the current directory, absolute otherwise.
func (p place) show(path string) string {
	if p.dir == "" || p.dir == "/" || path == p.dir || !forkbox.Within(path, p.dir) {
		return path
	}
	path = path[len(p.dir)+1:]
	if strings.HasPrefix(path, "-") {
		return "./" + path // or the next command takes it for a flag
	}
	return path
}
