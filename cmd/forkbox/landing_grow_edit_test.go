//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func (g *grower) appendTo() (string, error) {
	return g.edit("append", os.O_WRONLY|os.O_APPEND, func(f *os.File) error {
		_, err := f.Write(g.bytes())
		return err
	})
}

func (g *grower) truncate() (string, error) {
	return g.edit("truncate", os.O_WRONLY, func(f *os.File) error { return f.Truncate(int64(g.rng.IntN(5000))) })
}

// overwrite changes some bytes and keeps the size.
func (g *grower) overwrite() (string, error) {
	return g.edit("overwrite", os.O_WRONLY, func(f *os.File) error {
		info, err := f.Stat()
		if err != nil || info.Size() == 0 {
			return err
		}
		_, err = f.WriteAt([]byte{'!'}, g.rng.Int64N(info.Size()))
		return err
	})
}

func (g *grower) edit(what string, flags int, do func(*os.File) error) (string, error) {
	path := g.any(0)
	if path == "" {
		return "", nil
	}
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0)
	if err == nil {
		err = do(f)
		f.Close()
	}
	return what + " " + g.rel(path), err
}

// replace writes a new file beside an old one and renames it over that, as
// editors do.
func (g *grower) replace() (string, error) {
	path := g.any(0, fs.ModeSymlink)
	if path == "" {
		return "", nil
	}
	err := os.WriteFile(path+"~", g.bytes(), 0o644)
	if err == nil {
		err = os.Rename(path+"~", path)
	}
	return "replace " + g.rel(path), err
}

// putBack writes to a file and makes it what it was: no change.
func (g *grower) putBack() (string, error) {
	path := g.any(0)
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("something else for a while"), 0)
		err = errors.Join(err, f.Truncate(0))
		_, wrote := f.WriteAt(content, 0)
		err = errors.Join(err, wrote, f.Close())
	}
	return "put back " + g.rel(path), err
}

func (g *grower) removexattr() (string, error) {
	path := g.any(0, fs.ModeDir)
	if path == "" {
		return "", nil
	}
	all, _ := xattrsOf(path)
	for name := range all {
		if len(all) == 1 || g.rng.IntN(2) == 0 {
			return fmt.Sprintf("removexattr %q %s", name, g.rel(path)), unix.Lremovexattr(path, name)
		}
	}
	return "", nil
}

func (g *grower) rmdir() (string, error) {
	path := g.any(fs.ModeDir)
	if path == "" {
		return "", nil
	}
	return "rmdir " + g.rel(path), unix.Rmdir(path)
}

func (g *grower) remove() (string, error) {
	path := g.any()
	if path == "" {
		return "", nil
	}
	return "rm -r " + g.rel(path), os.RemoveAll(path)
}

// renew deletes a directory and makes it anew, which leaves an opaque one.
func (g *grower) renew() (string, error) {
	path := g.any(fs.ModeDir)
	if path == "" {
		return "", nil
	}
	err := os.RemoveAll(path)
	if err == nil {
		err = os.Mkdir(path, 0o755)
	}
	if err == nil && g.rng.IntN(2) == 0 {
		err = os.WriteFile(filepath.Join(path, g.name()), g.bytes(), 0o600)
	}
	return "renew " + g.rel(path), err
}
