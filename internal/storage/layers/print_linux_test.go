package layers

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox/internal/storage/filecopy"
	"golang.org/x/sys/unix"
)

// fingerprint describes every file of a tree with all that a copy must have
// as well. Two trees are the same if their fingerprints are.
func fingerprint(t tester, root string) map[string]string {
	t.Helper()
	p := &printer{tb: t, root: root, found: map[string]string{}, names: map[inode]string{}}
	p.walk(root)
	return p.found
}

type printer struct {
	tb    tester
	root  string
	found map[string]string
	names map[inode]string // the first name of each inode
}

func (p *printer) walk(path string) {
	var st unix.Stat_t
	must(p.tb, unix.Lstat(path, &st))
	rel, err := filepath.Rel(p.root, path)
	must(p.tb, err)
	first, again := p.names[inodeOf(&st)]
	if again {
		p.found[rel] = "is " + first
		return
	}
	p.names[inodeOf(&st)] = rel
	p.readable(path, &st, func() {
		p.found[rel] = p.describe(path, &st)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			entries, err := os.ReadDir(path)
			must(p.tb, err)
			for _, e := range entries {
				p.walk(filepath.Join(path, e.Name()))
			}
		}
	})
}

// readable lets an unprivileged test read its own files, whatever their mode.
func (p *printer) readable(path string, st *unix.Stat_t, do func()) {
	kind, need := st.Mode&unix.S_IFMT, uint32(0o500)
	if os.Geteuid() == 0 || kind != unix.S_IFDIR && kind != unix.S_IFREG || st.Mode&need == need {
		do()
		return
	}
	must(p.tb, unix.Chmod(path, st.Mode&0o7777|need))
	do()
	must(p.tb, unix.Chmod(path, st.Mode&0o7777))
}

func (p *printer) describe(path string, st *unix.Stat_t) string {
	text := fmt.Sprintf("mode %o owner %d:%d time %d.%09d links %d xattrs %s", st.Mode, st.Uid, st.Gid,
		st.Mtim.Sec, st.Mtim.Nsec, p.links(st), p.xattrs(path))
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		text += p.content(path)
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		must(p.tb, err)
		text += fmt.Sprintf(" to %q", target)
	case unix.S_IFCHR, unix.S_IFBLK:
		text += fmt.Sprintf(" device %x", st.Rdev)
	}
	return text
}

func (p *printer) links(st *unix.Stat_t) uint64 {
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0 // not every filesystem counts subdirectories
	}
	return uint64(st.Nlink)
}

// content is the sum of a file's bytes.
func (p *printer) content(path string) string {
	data, err := os.ReadFile(path)
	must(p.tb, err)
	return fmt.Sprintf(" size %d sum %x", len(data), sha256.Sum256(data))
}

func (p *printer) xattrs(path string) string {
	buf := make([]byte, filecopy.XattrMax)
	n, err := unix.Llistxattr(path, buf)
	must(p.tb, err)
	var all []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(buf[:n], []byte{0}), []byte{0}) {
		if len(name) == 0 {
			continue
		}
		value := make([]byte, filecopy.XattrMax)
		n, err := unix.Lgetxattr(path, string(name), value)
		must(p.tb, err)
		all = append(all, fmt.Sprintf("%s=%x", name, value[:n]))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// sameTree fails with what is different between two fingerprints.
func sameTree(t tester, what string, want, got map[string]string) {
	t.Helper()
	if maps.Equal(want, got) {
		return
	}
	for path, was := range want {
		if is := got[path]; is != was {
			t.Errorf("%s: %q\n is  %q\n was %q", what, path, is, was)
		}
	}
	for path, is := range got {
		if _, known := want[path]; !known {
			t.Errorf("%s: %q is new: %q", what, path, is)
		}
	}
	t.FailNow()
}
