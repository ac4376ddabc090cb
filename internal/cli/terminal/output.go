// Package terminal is where the command line reads and writes: tables, colour,
// progress, questions, the pager, sizes, printable text, JSON. It knows nothing
// of boxes.
package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Terminal is where a verb reads and writes, and how: its stdout is for data,
// stderr for people.
type Terminal struct {
	Stdout io.Writer
	Stderr io.Writer
	Stdin  *bufio.Reader // of answers(), once something was asked
	JSON   bool
}

// PrintJSON prints the one document of a verb.
func (t *Terminal) PrintJSON(doc any) error {
	enc := json.NewEncoder(t.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// Say prints a line for people, on stderr.
func (t *Terminal) Say(format string, args ...any) { fmt.Fprintf(t.Stderr, format+"\n", args...) }

// Table aligns columns. The rows are written by the caller, tab separated.
func (t *Terminal) Table(head string, rows func(w io.Writer)) error {
	return TableTo(t.Stdout, head, rows)
}

// List shows so many of something: as a document where JSON is wanted, as a table
// otherwise. Where there are none it says so.
func (t *Terminal) List(doc any, count int, none, head string, rows func(w io.Writer)) error {
	switch {
	case t.JSON:
		return t.PrintJSON(doc)
	case count == 0:
		t.Say("%s", none)
		return nil
	}
	return t.Table(head, rows)
}

// TableTo is Table for another writer.
func TableTo(out io.Writer, head string, rows func(w io.Writer)) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if head != "" {
		fmt.Fprintln(w, head)
	}
	rows(w)
	return w.Flush()
}

type Colour string

const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
	Bold   Colour = "1"
)

// Paint colours text for stderr, where that is a terminal and NO_COLOR is not
// set.
func (t *Terminal) Paint(c Colour, text string) string { return PaintFor(t.Stderr, c, text) }

// PaintFor colours text for a writer, where that takes colour.
func PaintFor(w io.Writer, c Colour, text string) string {
	if !TakesColour(w) {
		return text
	}
	return c.Paint(text)
}

// TakesColour says whether a writer is a terminal whose owner wants colour.
func TakesColour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

func (c Colour) Paint(text string) string { return "\x1b[" + string(c) + "m" + text + "\x1b[0m" }

// IsTerminal says whether a file, or a writer that is one, is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Ago is how people read times.
func Ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case t.IsZero():
		return "-"
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// Printable quotes text that would not print as it is. File names and errors
// come from boxes: an escape sequence in one must not reach the terminal.
func Printable(text string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// Plural reads "1 path", "2 paths".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// CommandLine is a command as a shell would take it.
func CommandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = ShellWord(arg)
	}
	return strings.Join(words, " ")
}

// ShellWord is a word as a shell would take it.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=./:,@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	if Printable(word) != word {
		return "$'" + strings.ReplaceAll(strings.Trim(strconv.Quote(word), `"`), `'`, `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
