// Package place is where the caller stands: what paths on the command line mean,
// and how paths are shown.
package place

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Place is where the caller stands: what paths on the command line are relative
// to, and what shown paths are.
type Place struct {
	Dir string
	// Away says that paths are those of another machine, where this directory and
	// the links that lead here mean nothing.
	Away bool
}

// Here is the current directory by its real name: a box knows no other. It is
// empty where there is none; then paths must be absolute and are shown so.
func Here() Place {
	dir, err := os.Getwd()
	if err != nil {
		return Place{}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return Place{Dir: dir}
}

// Paths makes what the command line says absolute.
func (p Place) Paths(args []string) (forkbox.Strings, error) {
	var list forkbox.Strings
	for _, arg := range args {
		path, err := p.Path(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, path)
	}
	return list, nil
}

// Changed says whether a box changed a path, or something below it.
type Changed func(path string) bool

// ChangedIn asks the box, about paths that can mean two things only.
func ChangedIn(ctx context.Context, c *client.Client, ref string) Changed {
	return func(path string) bool {
		found := errors.New("found")
		_, err := c.Changes(ctx, ref, forkbox.DiffSpec{Selection: forkbox.Selection{Paths: forkbox.Strings{path}}}, func(forkbox.Change) error { return found })
		return errors.Is(err, found)
	}
}

// PathsIn are the paths of a box that the command line means.
func (p Place) PathsIn(args []string, changed Changed) (forkbox.Strings, error) {
	var list forkbox.Strings
	for _, arg := range args {
		path, err := p.PathIn(arg, changed)
		if err != nil {
			return nil, err
		}
		list = append(list, path)
	}
	return list, nil
}

// PathIn is path, but where a box has a directory of its own in place of a link
// of reality: what is below that is meant as it is written.
func (p Place) PathIn(arg string, changed Changed) (string, error) {
	path, err := p.Path(arg)
	if err != nil {
		return path, err
	}
	if p.Away {
		return path, nil
	}
	written := filepath.Clean(arg)
	if !filepath.IsAbs(written) {
		written = filepath.Join(p.Dir, written)
	}
	if changed != nil && written != path && changed(written) {
		return written, nil
	}
	return path, nil
}

// Path is arg, absolute and clean, below the real name of its directory as far
// as that exists. Its last name is not followed: the link itself may be what
// was changed. With a slash at the end, what it leads to is meant.
func (p Place) Path(arg string) (string, error) {
	switch {
	case arg == "":
		return "", forkbox.Errorf(forkbox.Invalid, "find a path", "it is empty")
	case strings.ContainsRune(arg, 0):
		return "", forkbox.Errorf(forkbox.Invalid, "find path "+terminal.Printable(arg), "it has a NUL byte")
	case p.Away && path.IsAbs(arg):
		return path.Clean(arg), nil
	case p.Away:
		return "", forkbox.Errorf(forkbox.Invalid, "find path "+terminal.Printable(arg), "it is on another machine, where it cannot be said from here").
			Hint("give all of its path")
	case filepath.IsAbs(arg):
	case p.Dir == "":
		return "", forkbox.Errorf(forkbox.Invalid, "find path "+arg, "the current directory is gone").
			Hint("give an absolute path")
	}
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
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

// Show is a path as the caller would type it here: relative when it is below
// the current directory, absolute otherwise.
func (p Place) Show(path string) string {
	if p.Dir == "" || p.Dir == "/" || path == p.Dir || !forkbox.Within(path, p.Dir) {
		return path
	}
	path = path[len(p.Dir)+1:]
	if strings.HasPrefix(path, "-") {
		return "./" + path // or the next command takes it for a flag
	}
	return path
}
