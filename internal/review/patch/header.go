package patch

import (
	"bytes"
	"crypto/sha1" // git's name for content, not a safeguard
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// section is one part of a patch while it is written.
type section struct {
	File
	out              *bytes.Buffer
	oldMode, newMode string
	same             bool // content
}

// render writes a file that is added, deleted, or of one type in both versions.
func (f File) render(w io.Writer) (Stats, error) {
	s := section{File: f, out: new(bytes.Buffer)}
	var err error
	if f.OldPath != "" {
		if s.oldMode, err = gitMode(f.OldMode); err != nil {
			return Stats{}, err
		}
	} else {
		s.Old = nil
	}
	if f.NewPath != "" {
		if s.newMode, err = gitMode(f.NewMode); err != nil {
			return Stats{}, err
		}
	} else {
		s.New = nil
	}
	s.same = bytes.Equal(s.Old, s.New)
	if s.same && s.oldMode == s.newMode && s.OldPath == s.NewPath {
		return Stats{}, nil
	}
	return s.write(w)
}

func (s *section) write(w io.Writer) (stats Stats, err error) {
	s.head()
	switch {
	case s.same:
		s.index(7)
	case Binary(s.Old) || Binary(s.New):
		stats.Binary = true
		s.index(2 * sha1.Size) // git refuses a binary patch with less
		s.literals()
	default:
		s.index(7)
		stats, err = s.text()
	}
	if err == nil {
		_, err = w.Write(s.out.Bytes())
	}
	return stats, err
}

// head writes what comes before the index line.
func (s *section) head() {
	before, after := s.OldPath, s.NewPath
	if before == "" {
		before = after
	}
	if after == "" {
		after = before
	}
	fmt.Fprintf(s.out, "diff --git %s %s\n", headerName("a/"+before), headerName("b/"+after))
	switch {
	case s.OldPath == "":
		fmt.Fprintf(s.out, "new file mode %s\n", s.newMode)
	case s.NewPath == "":
		fmt.Fprintf(s.out, "deleted file mode %s\n", s.oldMode)
	case s.oldMode != s.newMode:
		fmt.Fprintf(s.out, "old mode %s\nnew mode %s\n", s.oldMode, s.newMode)
	}
	if s.OldPath != "" && s.NewPath != "" && s.OldPath != s.NewPath {
		fmt.Fprintf(s.out, "similarity index %d%%\nrename from %s\nrename to %s\n",
			s.similarity(), quote(s.OldPath), quote(s.NewPath))
	}
}

// headerName quotes more than git does: a directory whose name ends in a space
// is something that `git apply` cannot read from this line without quotes, not
// even as git wrote it, and for an empty or binary file no other line has it.
func headerName(name string) string {
	if strings.Contains(name, " /") {
		name, _ = quoted(name)
		return name
	}
	return quote(name)
}

// similarity is 100 for the same content and for nothing else.
func (s *section) similarity() int {
	if s.same {
		return 100
	}
	return min(s.Similarity, 99)
}

// index writes which content became which. Where content stays there is none.
func (s *section) index(width int) {
	if s.same && s.OldPath != "" && s.NewPath != "" {
		return
	}
	mode := ""
	if s.oldMode == s.newMode {
		mode = " " + s.oldMode
	}
	fmt.Fprintf(s.out, "index %s..%s%s\n", blobID(s.OldPath, s.Old)[:width], blobID(s.NewPath, s.New)[:width], mode)
}

func blobID(path string, content []byte) string {
	if path == "" {
		return strings.Repeat("0", 2*sha1.Size)
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (s *section) text() (Stats, error) {
	fmt.Fprintf(s.out, "--- %s\n+++ %s\n", label("a/", s.OldPath), label("b/", s.NewPath))
	var stats Stats
	for _, h := range Hunks(s.Old, s.New) {
		minus, plus := h.changed()
		stats.add(Stats{Plus: plus, Minus: minus, Hunks: 1})
		if err := h.Write(s.out); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// label names a side. A name with a space ends in a tab, as git has it for the
// sake of programs that take what follows a space for a date.
func label(prefix, path string) string {
	if path == "" {
		return "/dev/null"
	}
	name := quote(prefix + path)
	if strings.Contains(name, " ") {
		name += "\t"
	}
	return name
}

// git knows three kinds of files; of the permissions, only whether the owner
// may execute.
const (
	gitFile       = "100644"
	gitExecutable = "100755"
	gitSymlink    = "120000"
	gitSubmodule  = "160000"
)

func gitMode(mode fs.FileMode) (string, error) {
	switch {
	case mode&fs.ModeSymlink != 0:
		return gitSymlink, nil
	case !mode.IsRegular():
		return "", forkbox.Errorf(forkbox.Unsupported, rendering, "git has no form for a file of mode %v", mode)
	case mode&0o100 != 0:
		return gitExecutable, nil
	}
	return gitFile, nil
}

// parseMode takes the permissions that old versions of git wrote as well. A
// submodule is not a file: it comes back as fs.ModeIrregular.
func parseMode(text string) (fs.FileMode, bool) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || len(text) != len(gitFile) {
		return 0, false
	}
	switch {
	case text == gitSymlink:
		return fs.ModeSymlink | 0o777, true
	case text == gitSubmodule:
		return fs.ModeIrregular, true
	case n&^0o777 == 0o100000:
		return fs.FileMode(n & 0o777), true
	}
	return 0, false
}
