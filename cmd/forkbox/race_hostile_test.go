//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"
)

// hostileRace prints what terminals obey, what is no text, lines of megabytes
// and a million lines, and calls things by such names.
const hostileRace = `
name: bad
approaches:
  - {name: codes, run: 'for i in $(seq 40); do printf "\033]0;OWNED\007\033[2J\033[31;5mEVIL\033[0m \302\233 \233 \377\376 \000 \342\200\256 \r\n"; sleep 0.05; done'}
  - {name: line, run: 'head -c 64000000 /dev/zero | tr "\\0" x; sleep 1'}
  - {name: lines, run: 'seq 1000000; sleep 1'}
  - {name: names, run: 'touch "$(printf "new\nline")" "$(printf "esc\033[31mEVIL")" "$(printf "bytes\377\376")"; sleep 1'}
checks:
  - "printf '\\033[31;5mEVIL\\377\\n'; true # \e]0;OWNED\a \e[31;5mEVIL"
  - {run: "false # \e[31;5mEVIL \u009b \u202e", must: false, once: true}
`

// ownCodes are the sequences that forkbox itself may write on a terminal.
var ownCodes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// tame finds nothing in a text that a terminal would obey, but for what is
// forkbox's own.
func tame(t *testing.T, text string, own *regexp.Regexp) {
	t.Helper()
	for _, code := range []string{"\x1b]", "\x1b[31;5m", "\x1b[2J\x1b[31", "\x07", "\u009b", "\u202e", "\x00"} {
		if i := strings.Index(text, code); i >= 0 {
			t.Errorf("%q is there: %q", code, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	if own != nil {
		text = own.ReplaceAllString(text, "")
	}
	if !utf8.ValidString(text) {
		t.Error("it is no UTF-8")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }); i >= 0 {
		t.Errorf("there is a control character: %q", text[max(0, i-60):min(len(text), i+60)])
	}
}

// hostileMemory is how much forkbox may use while others print without end: the
// bytes of the program itself, and not of what they print.
const hostileMemory = 250 << 10 // KiB

// TestRaceHostileOutput reads such a race in plain lines, as JSON, on the page,
// and in the log.
func TestRaceHostileOutput(t *testing.T) {
	t.Parallel()
	w := newWeighedRaceWorld(t)
	file := w.raceFile(hostileRace)
	cmd := w.command("race", "-f", file)
	out, said, code := w.finish(cmd)
	if code != 0 {
		t.Fatalf("exit %d: %.2000s%.2000s", code, out, said)
	}
	w.lean(cmd)
	tame(t, out, nil)
	tame(t, said, nil)
	if n := len(out) + len(said); n > 1<<20 {
		t.Errorf("it printed %d bytes", n)
	}
	w.must("race", "rm", "bad")
	cmd = w.command("race", "--json", "-f", file)
	out, said, _ = w.finish(cmd)
	w.lean(cmd)
	r := w.ended(out) // every line of it is JSON
	tame(t, out+said, nil)
	heard := false
	for _, e := range w.eventsOf(out) {
		heard = heard || strings.Contains(e.Line, "EVIL")
		tame(t, e.Line, nil)
		if len(e.Line) > 4096 {
			t.Errorf("an event has a line of %d bytes", len(e.Line))
		}
	}
	if !heard {
		t.Error("nobody heard what it printed")
	}
	if got := outcomes(r); got != "codes:passed line:passed lines:passed names:passed" {
		t.Errorf("%s", told(r))
	}
	for _, args := range [][]string{{"show", "bad"}, {"ls"}, {"diff", "bad", "names"}, {"diff", "bad", "names", "codes"}, {"compare", "bad", "--html", "-"}} {
		tame(t, w.must(append([]string{"race"}, args...)...), nil)
	}
	w.daemonIsLean()
}

// lean looks at the most memory that a command had, which has ended.
func (w *raceWorld) lean(cmd *exec.Cmd) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.peaks, strconv.Itoa(cmd.Process.Pid)))
	w.ok(err)
	kib, err := strconv.Atoi(string(text))
	w.ok(err)
	if kib > hostileMemory {
		w.Errorf("it took %d KiB", kib)
	}
}

func (w *raceWorld) daemonIsLean() {
	w.Helper()
	if kib := w.daemonPeak(); kib > hostileMemory {
		w.Errorf("the daemon took %d KiB", kib)
	}
}

// onColours starts forkbox on a terminal of a size that shows colours.
func (w *raceWorld) onColours(size pty.Winsize, args ...string) *terminal {
	w.Helper()
	cmd := w.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "NO_COLOR=")
	return w.onPty(size, cmd)
}

// comes waits for the end.
func (w *raceWorld) comes(c *terminal, code int) {
	w.Helper()
	c.ends(code)
	w.restoredTerminal(c)
}

// restoredTerminal finds it as it was: its modes, its cursor, its first page.
func (w *raceWorld) restoredTerminal(c *terminal) {
	w.Helper()
	c.isRestored()
	c.seesAll()
	text := c.text()
	if hidden, shown := strings.LastIndex(text, "\x1b[?25l"), strings.LastIndex(text, "\x1b[?25h"); hidden > shown {
		w.Error("the cursor is hidden")
	}
	if strings.Count(text, "\x1b[?1049h") != strings.Count(text, "\x1b[?1049l") {
		w.Error("it has left the other page on the screen")
	}
}

// seesAll waits until everything that was written was read: what is written now comes
// last.
func (c *terminal) seesAll() {
	c.t.Helper()
	const last = "<this comes last>"
	if _, err := c.tty.WriteString(last); err != nil {
		c.t.Fatal(err)
	}
	c.expect(last)
}
