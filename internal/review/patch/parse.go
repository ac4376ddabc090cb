package patch

import (
	"bytes"
	"io/fs"
	"strings"

	"github.com/forkbox/forkbox"
)

// ParsedFile is one file's part of a patch.
type ParsedFile struct {
	OldPath, NewPath string      // as in [File]
	OldMode, NewMode fs.FileMode // 0 where the patch does not tell
	Similarity       int         // percent; of a rename or copy
	Copy             bool        // NewPath is a copy, OldPath stays
	OldID, NewID     string      // git's name of the content, may be abbreviated
	Hunks            []Hunk
	Binary           bool
	// Forward makes the new content, Reverse the old. Both are nil where
	// the patch only says that a binary file differs.
	Forward, Reverse *BinaryContent
	// Raw is all of this file's part of the patch, Head what of it comes
	// before the first hunk or binary content.
	Raw, Head []byte
}

// Parse reads a patch in git's format, with the prefixes a/ and b/. Text before
// and between files, such as a mail's, is passed over as git does. Lines of a
// hunk are counted by its header and never taken for anything else, whatever
// they look like; a patch that ends early, or has changed lines that no header
// counts, is an error: nothing that `git apply` might read differently is
// shown. Lines share memory with the patch.
func Parse(patch []byte) ([]ParsedFile, error) {
	p := parser{text: patch}
	var list []ParsedFile
	strange := false
	for p.more() {
		line := p.peek()
		switch {
		case hasPrefix(line, fileHeader):
			f, err := p.file()
			if err != nil {
				return nil, err
			}
			list = append(list, f)
			continue
		case hasPrefix(line, "diff --cc "), hasPrefix(line, "diff --combined "):
			return nil, p.errorf("it is the patch of a merge, which compares more than two versions")
		case hasPrefix(line, "@@ -"):
			return nil, p.errorf("this hunk belongs to no file")
		}
		strange = strange || line[0] != '#' && len(bytes.TrimSpace(line)) > 0
		p.next()
	}
	if list == nil && strange {
		return nil, p.errorf("there is no line that begins with %q", fileHeader)
	}
	return list, nil
}

const fileHeader = "diff --git "

// parser reads line by line. Lines have their newline.
type parser struct {
	text []byte
	at   int
	line int // lines read
}

func (p *parser) more() bool { return p.at < len(p.text) }

// peek is the next line; nil at the end.
func (p *parser) peek() []byte {
	rest := p.text[p.at:]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		return rest[: n+1 : n+1]
	}
	return rest
}

func (p *parser) next() []byte {
	line := p.peek()
	p.at += len(line)
	p.line++
	return line
}

// accept reads the next line if it has the prefix, and returns what follows it
// without the newline.
func (p *parser) accept(prefix string) (string, bool) {
	value, ok := strings.CutPrefix(string(p.peekAtMost(len(prefix))), prefix)
	if !ok {
		return value, false
	}
	return strings.TrimSuffix(string(p.next()[len(prefix):]), "\n"), true
}

// peekAtMost avoids copying a long line that is not the one looked for.
func (p *parser) peekAtMost(n int) []byte { return p.text[p.at:min(len(p.text), p.at+n)] }

// errorf is about the line that comes next.
func (p *parser) errorf(format string, args ...any) error {
	return forkbox.Errorf(forkbox.Invalid, "read patch", "line %d: "+format, append([]any{p.line + 1}, args...)...)
}

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}
