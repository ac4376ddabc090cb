package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// copier copies programs and the libraries that they need, each once.
type copier struct {
	root      string
	libraries map[string]string // a library's name → where it is
	done      map[string]bool
}

func copyPrograms(ctx context.Context, root string, programs []string) error {
	libraries, err := findLibraries(ctx)
	if err != nil {
		return err
	}
	c := &copier{root: root, libraries: libraries, done: map[string]bool{}}
	for _, p := range programs {
		if err := c.add(p); err != nil {
			return fmt.Errorf("cannot copy %s into the machine: %w", p, err)
		}
	}
	return nil
}

// findLibraries asks the dynamic linker's own index.
func findLibraries(ctx context.Context) (map[string]string, error) {
	listed, err := output(ctx, "/sbin/ldconfig", "-p")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, line := range strings.Split(listed, "\n") {
		about, file, ok := strings.Cut(line, " => ")
		name, kind, _ := strings.Cut(strings.TrimSpace(about), " ")
		if _, known := found[name]; ok && !known && strings.Contains(kind, "x86-64") {
			found[name] = file
		}
	}
	return found, nil
}

// add copies file to the same place in the machine, with what it needs. A
// link is copied as what it leads to: the links between alternatives lead
// through directories that the machine does not have.
func (c *copier) add(file string) error {
	if c.done[file] {
		return nil
	}
	c.done[file] = true
	if err := copyFile(file, filepath.Join(c.root, file)); err != nil {
		return err
	}
	needs, err := neededBy(file)
	if err != nil {
		return err
	}
	for _, need := range needs {
		where := need
		if !filepath.IsAbs(need) {
			where = c.libraries[need]
		}
		if where == "" {
			return fmt.Errorf("it needs %s, which is not installed", need)
		}
		if err := c.add(where); err != nil {
			return err
		}
	}
	return nil
}

// neededBy lists the names of the libraries of a program or library, and the
// path of the program's dynamic linker. A script needs nothing.
func neededBy(file string) (needs []string, err error) {
	f, err := elf.Open(file)
	var notELF *elf.FormatError
	if errors.As(err, &notELF) || isShort(file) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if interpreter := f.Section(".interp"); interpreter != nil {
		name, err := interpreter.Data()
		if err != nil {
			return nil, err
		}
		needs = append(needs, strings.TrimRight(string(name), "\x00"))
	}
	libraries, err := f.ImportedLibraries()
	return append(needs, libraries...), err
}

// isShort tells files that are no ELF because they have not even a header.
func isShort(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() < 64
}
