//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func (g *grower) rename() (string, error) { return g.move(g.any(), g.fresh()) }

func (g *grower) renameDir() (string, error) { return g.move(g.any(fs.ModeDir), g.fresh()) }

func (g *grower) renameOver() (string, error) { return g.move(g.any(), g.any()) }

func (g *grower) move(from, to string) (string, error) {
	if from == "" || to == "" || from == to {
		return "", nil
	}
	return fmt.Sprintf("mv %s %s", g.rel(from), g.rel(to)), moveAsPrograms(from, to)
}

// moveAsPrograms renames or, where the filesystem says that it cannot, has it
// copied as mv does: overlayfs in a user namespace renames no directory of the
// base.
func moveAsPrograms(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, unix.EXDEV) {
		return exec.Command("mv", "-T", "--", from, to).Run()
	}
	return err
}

// swap exchanges two directories by way of a third name.
func (g *grower) swap() (string, error) {
	a, b := g.any(fs.ModeDir), g.any(fs.ModeDir)
	if a == "" || a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
		return "", nil
	}
	aside := filepath.Join(g.root, "aside")
	err := moveAsPrograms(a, aside)
	if err == nil {
		err = moveAsPrograms(b, a)
	}
	if err == nil {
		err = moveAsPrograms(aside, b)
	}
	return fmt.Sprintf("swap %s %s", g.rel(a), g.rel(b)), err
}

// nestedRenames moves a directory and then one in it.
func (g *grower) nestedRenames() (string, error) {
	outer, to := g.any(fs.ModeDir), g.fresh()
	if outer == "" {
		return "", nil
	}
	said, err := g.move(outer, to)
	inner := (&grower{root: to, rng: g.rng}).any(fs.ModeDir)
	if err != nil || inner == "" {
		return said, err
	}
	more, err := g.move(inner, g.fresh())
	return said + "; " + more, err
}

func (g *grower) thereAndBack() (string, error) {
	path, aside := g.any(), filepath.Join(g.root, "aside")
	if path == "" {
		return "", nil
	}
	err := moveAsPrograms(path, aside)
	if err == nil {
		err = moveAsPrograms(aside, path)
	}
	return "there and back " + g.rel(path), err
}

// retype puts something of another type in a path's place.
func (g *grower) retype() (string, error) {
	path := g.any()
	if path == "" || os.RemoveAll(path) != nil {
		return "", nil
	}
	var err error
	switch g.rng.IntN(4) {
	case 0:
		err = os.WriteFile(path, g.bytes(), 0o644)
	case 1:
		err = os.Mkdir(path, 0o755)
	case 2:
		err = os.Symlink("elsewhere", path)
	case 3:
		err = unix.Mkfifo(path, 0o600)
	}
	return "retype " + g.rel(path), err
}
