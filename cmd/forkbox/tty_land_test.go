//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// desk is a world whose user sits at terminals.
type desk struct{ *world }

func newDesk(t *testing.T, env ...string) *desk {
	t.Helper()
	return &desk{newWorld(t, append(env, "TERM=dumb")...)}
}

// atDesk has files in reality, and a box of it in which something was done.
func atDesk(t *testing.T, files map[string]string, inBox string) *desk {
	t.Helper()
	d := newDesk(t)
	for name, text := range files {
		d.ok(os.WriteFile(d.path(name), []byte(text), 0o644))
	}
	d.begin(inBox)
	return d
}

// begin makes the box.
func (d *desk) begin(inBox string) {
	d.Helper()
	d.must("new", "--name", "try")
	d.sh("try", inBox)
}

// forkbox starts it on a terminal.
func (d *desk) forkbox(args ...string) *terminal {
	d.Helper()
	return d.onPty(pty.Winsize{Rows: 33, Cols: 111}, d.command(args...))
}

// path is a file of reality, and content what it has.
func (d *desk) path(name string) string { return filepath.Join(d.root, name) }

func (d *desk) content(name string) string {
	d.Helper()
	return content(d.T, d.path(name))
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDiffOnATerminalHasColoursAndAPager(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "an old word\n"}, `printf 'a new word \033[2K\n' > f`)
	d.env = []string{"TERM=xterm", "NO_COLOR=", "FORKBOX_PAGER=sed s/^/paged:/"}
	c := d.forkbox("diff", "-p", "try")
	c.expect("paged:\x1b[1mdiff --git")
	c.expect("\x1b[31;7m")
	c.expect("^[[2K")
	c.ends(0)
	c = d.forkbox("diff", "--no-pager", "try")
	c.expect("\x1b[33mmodified\x1b[0m")
	c.ends(0)
	if strings.Contains(c.text(), "paged:") {
		t.Error(c.text())
	}
	d.env = []string{"TERM=xterm", "NO_COLOR=1", "PAGER=cat"}
	c = d.forkbox("diff", "-p", "try")
	c.expect("+a new word ^[[2K")
	c.ends(0)
	if strings.Contains(c.text(), "\x1b") {
		t.Errorf("%q", c.text())
	}
}

// The pager has ctrl-C to itself, and leaving it is no failure.
func TestCtrlCIsThePagers(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "seq 20000 > f")
	d.env = []string{"TERM=dumb", `FORKBOX_PAGER=trap 'echo pager has it; exit 0' INT; echo ready; while :; do sleep 0.1; done`}
	c := d.forkbox("diff", "-p", "try")
	c.expect("ready")
	// A shell that is just about to start its sleep may miss one.
	for range 5 {
		c.press("\x03")
		if c.shows("pager has it", 1, time.Second) {
			break
		}
	}
	c.expect("pager has it")
	c.ends(0)
}

func TestApplyAsksForASecondLook(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"tool": "x"}, "chmod 4755 tool")
	for _, row := range []struct {
		answer, says string
		code         int
		set          bool
	}{{"n\n", "nothing was applied", 125, false}, {"\x04", "nothing was applied", 125, false}, {"y\n", "landed 1 path", 0, true}} {
		c := d.forkbox("apply", "try")
		c.expect("this deserves a second look")
		c.expect("tool: ")
		c.expect("apply? [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(row.code)
		info, err := os.Stat(d.path("tool"))
		if err != nil {
			t.Fatal(err)
		}
		if set := info.Mode()&os.ModeSetuid != 0; set != row.set {
			t.Errorf("after %q: %v", row.answer, info.Mode())
		}
	}
}

func TestRunAppliesWhenToldTo(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, "true")
	c := d.forkbox("run", "--name", "box1", "--", "sh", "-c", "echo new > f")
	c.expect("box box1: 1 modified")
	c.expect("apply, keep or discard? [a/k/d] (keep)")
	c.press("a\n")
	c.expect("landed 1 path   Undo: forkbox undo ")
	c.ends(0)
	if got := d.content("f"); got != "new\n" {
		t.Errorf("%q", got)
	}
	if list := d.must("ls", "--json"); strings.Contains(list, "box1") {
		t.Error("a box that has nothing left is still there")
	}
}

func TestUndoAsksWhetherThatIsTheOne(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	id := d.must("apply", "-m", "why not", "try")
	for _, row := range []struct{ answer, says, content string }{
		{"\n", "nothing was undone", "new\n"}, {"y\n", "undone: 1 path is as before " + id, "old\n"},
	} {
		c := d.forkbox("undo")
		c.expect("undo " + id + ": 1 path of box try")
		c.expect("(why not)? [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := d.content("f"); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

// Elsewhere there may be something to undo; it is offered, and not taken.
func TestUndoElsewhereAsksWhich(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	id := d.must("apply", "try")
	there := d.root
	d.root = t.TempDir()
	for _, row := range []struct{ answer, says, content string }{
		{"\n", "nothing was undone", "new\n"}, {id + "\n", "undone: 1 path is as before " + id, "old\n"},
	} {
		c := d.forkbox("undo")
		c.expect(id + ": 1 path of box try in " + there)
		c.expect("undo which?")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := content(t, filepath.Join(there, "f")); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

func TestDiscardAsks(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	for _, row := range []struct{ answer, says, content string }{
		{"n\n", "nothing was discarded", "new"}, {"yes\n", "put back 1 path", "old"},
	} {
		c := d.forkbox("discard", "try", "f")
		c.expect("discard 1 change of box try? There is no way back. [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := d.must("exec", "try", "--", "cat", "f"); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

func TestRemovingWorkAsks(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f; echo more > g")
	c := d.forkbox("diff", "-p", "--no-pager", "try")
	c.expect("@@  # hunk 1")
	c.ends(0)
	for _, row := range []struct{ answer, says string }{
		{"\n", "box try stays"}, {"y\n", "removed box try with 1 modified, 1 added"},
	} {
		c := d.forkbox("rm", "try")
		c.expect("remove box try with 1 modified, 1 added? There is no way back. [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
	}
}

func TestChoosingOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"a": "old\n", "b": "old\n"}, "echo new > a; echo new > b")
	c := d.forkbox("apply", "-i", "try")
	c.expect("(1/1) Apply this hunk [y,n,q,a,d,?]?")
	c.press("n\n")
	c.expect("b/b")
	c.press("y\n")
	c.expect("landed 1 path")
	c.ends(0)
	if a, b := d.content("a"), d.content("b"); a != "old\n" || b != "new\n" {
		t.Errorf("%q %q", a, b)
	}
}
