package main

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

	"github.com/forkbox/forkbox"
	"golang.org/x/term"
)

// console is where a verb reads and writes, and how: its stdout is for data,
// stderr for people.
type console struct {
	stdout io.Writer
	stderr io.Writer
	stdin  *bufio.Reader // of answers(), once something was asked
	json   bool
}

// printJSON prints the one document of a verb.
func (t *console) printJSON(doc any) error {
	enc := json.NewEncoder(t.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// say prints a line for people, on stderr.
func (t *console) say(format string, args ...any) { fmt.Fprintf(t.stderr, format+"\n", args...) }

// table aligns columns. The rows are written by the caller, tab separated.
func (t *console) table(head string, rows func(w io.Writer)) error {
	return tableTo(t.stdout, head, rows)
}

func tableTo(out io.Writer, head string, rows func(w io.Writer)) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if head != "" {
		fmt.Fprintln(w, head)
	}
	rows(w)
	return w.Flush()
}

type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
	bold   colour = "1"
)

// paint colours text for stderr, where that is a terminal and NO_COLOR is not
// set.
func (t *console) paint(c colour, text string) string { return paintFor(t.stderr, c, text) }

func paintFor(w io.Writer, c colour, text string) string {
	if !takesColour(w) {
		return text
	}
	return c.paint(text)
}

func takesColour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func (c colour) paint(text string) string { return "\x1b[" + string(c) + "m" + text + "\x1b[0m" }

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ago is how people read times.
func ago(t time.Time) string {
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

// printable quotes text that would not print as it is. File names and errors
// come from boxes: an escape sequence in one must not reach the terminal.
func printable(text string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// plural reads "1 path", "2 paths".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// commandLine is a command as a shell would take it.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=./:,@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	if printable(word) != word {
		return "$'" + strings.ReplaceAll(strings.Trim(strconv.Quote(word), `"`), `'`, `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func size(n int64) string { return forkbox.FormatSize(n) }
