// Package patch compares two versions of a file and tells the difference the
// way git does: as edits of lines, as hunks with context, as a patch that
// `git apply` takes forwards and backwards, binary content included. It reads
// such patches too, and makes the version in between in which only some hunks
// are applied.
//
// It works on bytes that were read before; it opens nothing. Paths are raw
// bytes: they may hold newlines, quotes and what is not UTF-8.
package patch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

const rendering = "write patch"

// File is one file in two versions.
type File struct {
	OldPath, NewPath string      // relative, raw bytes; "" where the file is absent
	OldMode, NewMode fs.FileMode // with type bits
	Old, New         []byte      // content; the target of a symlink
	Similarity       int         // percent; above 0 where the file was renamed
}

// Stats counts what a patch changes.
type Stats struct {
	Plus, Minus int // lines
	Hunks       int // as [Hunks] has them
	Binary      bool
}

func (s *Stats) add(other Stats) {
	s.Plus += other.Plus
	s.Minus += other.Minus
	s.Hunks += other.Hunks
	s.Binary = s.Binary || other.Binary
}

// Count is the stats of a change of content.
func Count(old, new []byte) Stats {
	if Binary(old) || Binary(new) {
		return Stats{Binary: string(old) != string(new)}
	}
	a, b := Split(old), Split(new)
	edits := place(Edits(a, b), a, b) // moving an edit can change how they group
	stats := Stats{Hunks: len(group(edits))}
	for _, e := range edits {
		stats.Minus += e.OldTo - e.OldFrom
		stats.Plus += e.NewTo - e.NewFrom
	}
	return stats
}

// Render writes one file's patch in git's format; `git apply` takes it both
// ways. Nothing is written for a difference that git does not know, such as
// permissions other than the owner's to execute. A file that became a symlink,
// or the reverse, is a deletion and a creation, and so is a path that changed
// without a similarity. Only regular files and symlinks have a git form: any
// other mode is an error.
func Render(w io.Writer, f File) (Stats, error) {
	if err := f.check(); err != nil {
		return Stats{}, err
	}
	var stats Stats
	out := bufio.NewWriter(w)
	for _, part := range f.parts() {
		s, err := part.render(out)
		if err != nil {
			return stats, err
		}
		stats.add(s)
	}
	if err := out.Flush(); err != nil {
		return stats, forkbox.Wrap(rendering, err)
	}
	return stats, nil
}

func (f File) check() error {
	if f.OldPath == "" && f.NewPath == "" {
		return forkbox.Errorf(forkbox.Invalid, rendering, "the file has no path")
	}
	if f.Similarity < 0 || f.Similarity > 100 {
		return forkbox.Errorf(forkbox.Invalid, rendering, "%d is not a similarity in percent", f.Similarity)
	}
	for _, p := range []string{f.OldPath, f.NewPath} {
		if p != "" && !relative(p) {
			return forkbox.Errorf(forkbox.Invalid, rendering, "%q is not a clean relative path", p)
		}
	}
	return nil
}

// relative says whether a path stays below the directory a patch is applied in.
func relative(p string) bool {
	return !path.IsAbs(p) && path.Clean(p) == p && p != "." && p != ".." &&
		!strings.HasPrefix(p, "../") && !strings.ContainsRune(p, 0)
}

// parts cuts a file into what git tells one by one.
func (f File) parts() []File {
	both := f.OldPath != "" && f.NewPath != ""
	moved := f.OldPath != f.NewPath && f.Similarity == 0
	if both && (moved || f.OldMode.Type() != f.NewMode.Type()) {
		return []File{
			{OldPath: f.OldPath, OldMode: f.OldMode, Old: f.Old},
			{NewPath: f.NewPath, NewMode: f.NewMode, New: f.New},
		}
	}
	return []File{f}
}

// Binary says whether content is binary, as git has it: whether there is a NUL
// in the first 8000 bytes.
func Binary(content []byte) bool {
	const looked = 8000
	return bytes.IndexByte(content[:min(len(content), looked)], 0) >= 0
}

const (
	binaryHeader = "GIT binary patch\n"
	// lineBytes is how many bytes a line of a binary patch holds at most.
	lineBytes = 52
	digits85  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)

// literals writes both versions whole, so that the patch can be reversed.
func (s *section) literals() {
	s.out.WriteString(binaryHeader)
	writeLiteral(s.out, s.New)
	writeLiteral(s.out, s.Old)
}

func writeLiteral(out *bytes.Buffer, content []byte) {
	fmt.Fprintf(out, "literal %d\n", len(content))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(content) // a bytes.Buffer takes everything
	z.Close()
	for packed.Len() > 0 {
		encode85(out, packed.Next(lineBytes))
	}
	out.WriteByte('\n')
}

// encode85 writes one line: a letter for the number of bytes, then five digits
// for every four bytes.
func encode85(out *bytes.Buffer, line []byte) {
	if n := byte(len(line)); n <= 26 {
		out.WriteByte('A' + n - 1)
	} else {
		out.WriteByte('a' + n - 27)
	}
	for len(line) > 0 {
		var word [4]byte
		line = line[copy(word[:], line):]
		n := binary.BigEndian.Uint32(word[:])
		var digits [5]byte
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i], n = digits85[n%85], n/85
		}
		out.Write(digits[:])
	}
	out.WriteByte('\n')
}
