package change

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// changeList is a line per change.
type changeList struct {
	out *bufio.Writer
	tty io.Writer
	at  place.Place
}

func (l *changeList) add(c forkbox.Change) error {
	_, err := fmt.Fprintln(l.out, Line(l.tty, l.at, c))
	return err
}

func (l *changeList) end(forkbox.Summary) error { return nil }

// nameList is a name per change.
type nameList struct {
	out *bufio.Writer
	at  place.Place
	nul bool
}

func (l *nameList) add(c forkbox.Change) error {
	if l.nul {
		l.out.WriteString(namePath(l.at, c))
		return l.out.WriteByte(0)
	}
	_, err := fmt.Fprintln(l.out, changePath(l.at, c))
	return err
}

func (l *nameList) end(forkbox.Summary) error { return nil }

// jsonList is one document, with a change per line.
type jsonList struct {
	out *bufio.Writer
	n   int
}

func (l *jsonList) add(c forkbox.Change) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	before := "{\"changes\":[\n  "
	if l.n++; l.n > 1 {
		before = ",\n  "
	}
	l.out.WriteString(before)
	_, err = l.out.Write(text)
	return err
}

func (l *jsonList) end(summary forkbox.Summary) error {
	text, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	if l.n == 0 {
		l.out.WriteString("{\"changes\":[")
	}
	_, err = fmt.Fprintf(l.out, "],\n\"summary\":%s}\n", text)
	return err
}

// patchList is git's format. In a pipe every patch is passed on as it came, so
// that git apply takes it; a terminal gets what a person can read.
type patchList struct {
	out              *bufio.Writer
	at               place.Place
	colour, terminal bool
}

func (l *patchList) add(c forkbox.Change) error {
	note := patchNote(l.at, c)
	if note == "" && c.Hunks > 1 && !l.terminal { // a terminal has the numbers at the hunks
		note = fmt.Sprintf("# %s: hunks 1 to %d, from the top", changePath(l.at, c), c.Hunks)
	}
	if note != "" {
		if l.colour {
			note = terminal.Cyan.Paint(note)
		}
		if _, err := fmt.Fprintln(l.out, note); err != nil {
			return err
		}
	}
	if !l.terminal {
		_, err := l.out.Write(c.Patch)
		return err
	}
	return showPatch(l.out, c, l.colour)
}

func (l *patchList) end(forkbox.Summary) error { return nil }

// patchNote is a line about what the patch cannot say. Between patches git
// apply skips what it does not know, and no such line looks like the start of
// one: names that do not print are quoted, so it is one line.
func patchNote(at place.Place, c forkbox.Change) string {
	unsaid := slices.Contains(c.Attrs, "owner") || slices.Contains(c.Attrs, "xattr") || c.Link != ""
	if len(c.Patch) > 0 && !unsaid {
		return ""
	}
	return fmt.Sprintf("# %s %s %s%s", c.Kind, c.Type, changePath(at, c), changeDetail(at, c))
}

// showPatch is for a terminal: the bytes of a binary file are left out, and
// nothing that came from a box controls the terminal.
func showPatch(out *bufio.Writer, c forkbox.Change, colour bool) error {
	text := c.Patch
	if at := bytes.Index(text, []byte("GIT binary patch\n")); c.Binary && at >= 0 {
		text = fmt.Appendf(text[:at:at], "Binary file, %s\n", binarySizes(c))
	}
	painter := patchPainter{out: out, colour: colour, numbered: true}
	painter.write(text)
	return painter.end()
}

func binarySizes(c forkbox.Change) string {
	switch c.Kind {
	case forkbox.Added:
		return forkbox.FormatSize(c.Size)
	case forkbox.Deleted:
		return forkbox.FormatSize(c.Size) + " before"
	}
	return forkbox.FormatSize(c.OldSize) + " to " + forkbox.FormatSize(c.Size)
}
