//go:build linux

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// seen is all that one name in a tree consists of.
type seen struct {
	Path     string // from the root of the tree, which is "."
	Mode     uint32
	UID, GID uint32
	Rdev     uint64
	Size     int64
	Blocks   int64
	Sum      [32]byte
	Target   string
	Xattrs   map[string]string
	Dev, Ino uint64
	Nlink    uint64
	Mtime    int64
}

// tree is everything below a directory, by path, with the directory itself.
type tree map[string]seen

// look reads a tree. It follows no symlink and opens nothing but regular files.
func look(root string) (tree, error) {
	all := tree{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := lookAt(path)
		s.Path = rel
		all[rel] = s
		return err
	})
	return all, err
}

func lookAt(path string) (s seen, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return s, fmt.Errorf("stat %q: %w", path, err)
	}
	s = seen{Mode: st.Mode, UID: st.Uid, GID: st.Gid, Rdev: st.Rdev, Blocks: st.Blocks, Dev: st.Dev, Ino: st.Ino, Nlink: uint64(st.Nlink), Mtime: st.Mtim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Size = st.Size
		s.Sum, err = sumOf(path)
	case unix.S_IFLNK:
		s.Target, err = os.Readlink(path)
	}
	if err == nil {
		s.Xattrs, err = xattrsOf(path)
	}
	return s, err
}

func sumOf(path string) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [32]byte(h.Sum(nil)), err
}

func xattrsOf(path string) (map[string]string, error) {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, names)
	if errors.Is(err, unix.ENOTSUP) || err == nil && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list attributes of %q: %w", path, err)
	}
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return nil, fmt.Errorf("attribute %s of %q: %w", name, path, err)
		}
		all[name] = string(value[:n])
	}
	return all, nil
}

func (s seen) isDir() bool { return s.Mode&unix.S_IFMT == unix.S_IFDIR }

func (s seen) inode() [2]uint64 { return [2]uint64{s.Dev, s.Ino} }

// String is what has to be the same wherever a file is carried.
func (s seen) String() string {
	text := fmt.Sprintf("%06o %d:%d", s.Mode, s.UID, s.GID)
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		text += fmt.Sprintf(" size %d sum %x", s.Size, s.Sum[:6])
	case unix.S_IFLNK:
		text += fmt.Sprintf(" -> %q", s.Target)
	case unix.S_IFCHR, unix.S_IFBLK:
		text += fmt.Sprintf(" device %x", s.Rdev)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Xattrs)) {
		text += fmt.Sprintf(" %s=%x", name, s.Xattrs[name])
	}
	return text
}

// differences says in what reality is not what it should be, "" if in nothing.
// more compares a path beyond what String has; it may be nil.
func differences(got, want tree, more func(got, want seen) string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(want)) {
		w := want[path]
		g, ok := got[path]
		switch {
		case !ok:
			fmt.Fprintf(&b, "missing   %q: %s\n", path, w)
		case g.String() != w.String():
			fmt.Fprintf(&b, "different %q:\n  is        %s\n  should be %s\n", path, g, w)
		case more != nil && more(g, w) != "":
			fmt.Fprintf(&b, "different %q: %s\n", path, more(g, w))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[path]; !ok {
			fmt.Fprintf(&b, "too much  %q: %s\n", path, got[path])
		}
	}
	return b.String()
}

// restored says in what a tree is not exactly what it was: the same inodes,
// with the same times of files.
func restored(got, before tree) string {
	return differences(got, before, func(g, w seen) string {
		switch {
		case g.inode() != w.inode():
			return fmt.Sprintf("is inode %d, was %d", g.Ino, w.Ino)
		case !g.isDir() && g.Mtime != w.Mtime:
			return fmt.Sprintf("has time %d, had %d", g.Mtime, w.Mtime)
		}
		return ""
	})
}

// landed says in what reality is not as the box is. before is what reality was.
func landed(got, box, before tree) string {
	old := map[[2]uint64]seen{}
	for _, s := range before {
		old[s.inode()] = s
	}
	diff := differences(got, box, func(g, w seen) string {
		was, same := old[g.inode()]
		switch {
		case g.isDir():
			return ""
		case same && g.Mtime != was.Mtime:
			return "the time of a file that stayed is another"
		case !same && g.Mtime != w.Mtime:
			return fmt.Sprintf("has time %d, in the box %d", g.Mtime, w.Mtime)
		case !same && g.Blocks > w.Blocks+128:
			return fmt.Sprintf("has %d blocks, in the box %d", g.Blocks, w.Blocks)
		}
		return ""
	})
	return diff + linksDiffer(got, box, old)
}

// linksDiffer compares which names are one file. Names that are one in the box
// must be one in reality. The other way round, files that reality had may stay
// one: overlayfs parts them when it copies one up, unasked by the box. And
// in a user namespace it shows two inodes where a file of the base was linked,
// with the right number of links.
func linksDiffer(got, box tree, old map[[2]uint64]seen) string {
	var b strings.Builder
	for _, names := range sameInode(box) {
		for _, name := range names[1:] {
			if got[name].inode() != got[names[0]].inode() {
				fmt.Fprintf(&b, "%q and %q are one file in the box\n", names[0], name)
			}
		}
	}
	for inode, names := range sameInode(got) {
		for _, name := range names[1:] {
			one, two := box[names[0]], box[name]
			if _, kept := old[inode]; !kept && one.inode() != two.inode() && (one.Nlink < 2 || two.Nlink != one.Nlink) {
				fmt.Fprintf(&b, "%q and %q are two files in the box\n", names[0], name)
			}
		}
	}
	return b.String()
}

func sameInode(t tree) map[[2]uint64][]string {
	groups := map[[2]uint64][]string{}
	for _, path := range slices.Sorted(maps.Keys(t)) {
		if !t[path].isDir() {
			groups[t[path].inode()] = append(groups[t[path].inode()], path)
		}
	}
	return groups
}
