// Package owned says which installed package a file of the machine belongs to,
// as the package manager noted it: dpkg in a list for each package, apk in one
// file for all. The database of rpm is no text and is not read.
package owned

import (
	"bufio"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// By names, for each path that a package owns, or owns something below of, the
// packages that do. It reads all lists once, one line at a time. A list that
// cannot be read names nothing.
func By(root string, paths []string) map[string][]string {
	s := &search{owners: map[string][]string{}, merged: isMerged(root)}
	for _, p := range paths {
		s.owners[p] = nil
	}
	lists, _ := filepath.Glob(filepath.Join(root, "var/lib/dpkg/info/*.list"))
	for _, list := range lists {
		// libjq1:amd64.list is of libjq1.
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		s.read(list, func(line string) { s.has(name, line) })
	}
	s.apk(filepath.Join(root, "lib/apk/db/installed"))
	for p, names := range s.owners {
		if names == nil {
			delete(s.owners, p)
		}
	}
	return s.owners
}

type search struct {
	owners map[string][]string // by the paths that are asked for
	merged bool
}

// apk has P:NAME, F:DIRECTORY and R:FILE for each package, among others.
func (s *search) apk(file string) {
	var name, dir string
	s.read(file, func(line string) {
		switch kind, value, _ := strings.Cut(line, ":"); kind {
		case "P":
			name = value
		case "F":
			dir = "/" + value
			s.has(name, dir)
		case "R":
			s.has(name, path.Join(dir, value))
		}
	})
}

// longest is what a line may have; paths are shorter.
const longest = 64 << 10

func (s *search) read(file string, line func(string)) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(io.Reader(f))
	lines.Buffer(nil, longest)
	for lines.Scan() {
		line(lines.Text())
	}
}

// has notes that a package has a file, for the file and all that it lies in.
func (s *search) has(name, file string) {
	if s.merged && moved(file) {
		file = "/usr" + file
	}
	for ; len(file) > 1; file = path.Dir(file) {
		if names, asked := s.owners[file]; asked && !slices.Contains(names, name) {
			s.owners[file] = append(names, name)
		}
	}
}

// moved says whether a path is in one of the directories that lie in /usr now.
// Packages that were built before still list them as they were.
func moved(file string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(file, "/"), "/")
	return slices.Contains([]string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}, first)
}

func isMerged(root string) bool {
	info, err := os.Lstat(filepath.Join(root, "bin"))
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
