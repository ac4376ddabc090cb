//go:build linux

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"golang.org/x/term"
)

// desk is a directory with a box of it, and a terminal for one command after
// another.
type desk struct {
	t    *testing.T
	home string
	env  []string
}

func atDesk(t *testing.T, files map[string]string, inBox string) *desk {
	t.Helper()
	home, err := tempHome()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeHome(t, home) })
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, home, "new", "--name", "try")
	must(t, home, "exec", "try", "--", "sh", "-c", inBox)
	return &desk{t: t, home: home, env: []string{"TERM=dumb"}}
}

// forkbox starts it on a terminal.
func (d *desk) forkbox(args ...string) *terminal {
	d.t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	pty.Setsize(keys, &pty.Winsize{Rows: 33, Cols: 111})
	was, err := term.GetState(int(tty.Fd()))
	if err != nil {
		d.t.Fatal(err)
	}
	c := &terminal{t: d.t, keys: keys, tty: tty, was: was}
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{"forkbox"}, args...),
		Env:   append(append(os.Environ(), "FORKBOX_HOME="+d.home), d.env...),
		Stdin: tty, Stdout: tty, Stderr: tty,
	}
	c.cmd.SysProcAttr = launch.OwnSession()
	c.cmd.SysProcAttr.Setctty = true
	if err := c.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go c.watch()
	d.t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		keys.Close()
		tty.Close()
	})
	return c
}

func (c *terminal) ends(code int) {
	c.t.Helper()
	if got := c.exit(); got != code {
		c.t.Errorf("exit code %d, not %d:\n%s", got, code, c.text())
	}
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
	// In the background, where CI may run this, ctrl-C is ignored, and a shell
	// cannot trap what was ignored when it started.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	d := atDesk(t, nil, "seq 20000 > f")
	d.env = []string{"TERM=dumb", `FORKBOX_PAGER=trap 'echo pager has it; exit 0' INT; echo ready; while :; do sleep 0.1; done`}
	c := d.forkbox("diff", "-p", "try")
	c.expect("ready")
	// A shell that is just about to start its sleep may miss one.
	for range 5 {
		c.press("\x03")
		if c.sees("pager has it") {
			break
		}
	}
	c.expect("pager has it")
	c.ends(0)
}

func TestApplyAsksForASecondLook(t *testing.T) {
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
		info, err := os.Stat("tool")
		if err != nil {
			t.Fatal(err)
		}
		if set := info.Mode()&os.ModeSetuid != 0; set != row.set {
			t.Errorf("after %q: %v", row.answer, info.Mode())
		}
	}
}

func TestRunAppliesWhenToldTo(t *testing.T) {
	d := atDesk(t, map[string]string{"f": "old\n"}, "true")
	c := d.forkbox("run", "--name", "box1", "--", "sh", "-c", "echo new > f")
	c.expect("box box1: 1 modified")
	c.expect("apply, keep or discard? [a/k/d] (keep)")
	c.press("a\n")
	c.expect("landed 1 path   Undo: forkbox undo ")
	c.ends(0)
	if got := content(t, "f"); got != "new\n" {
		t.Errorf("%q", got)
	}
	if list := must(t, d.home, "ls", "--json"); strings.Contains(list, "box1") {
		t.Error("a box that has nothing left is still there")
	}
}

func TestUndoAsksWhetherThatIsTheOne(t *testing.T) {
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	id := must(t, d.home, "apply", "-m", "why not", "try")
	for _, row := range []struct{ answer, says, content string }{
		{"\n", "nothing was undone", "new\n"}, {"y\n", "undone: 1 path is as before " + id, "old\n"},
	} {
		c := d.forkbox("undo")
		c.expect("undo " + id + ": 1 path of box try")
		c.expect("(why not)? [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := content(t, "f"); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

// Elsewhere there may be something to undo; it is offered, and not taken.
func TestUndoElsewhereAsksWhich(t *testing.T) {
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	id := must(t, d.home, "apply", "try")
	file, err := filepath.Abs("f")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, row := range []struct{ answer, says, content string }{
		{"\n", "nothing was undone", "new\n"}, {id + "\n", "undone: 1 path is as before " + id, "old\n"},
	} {
		c := d.forkbox("undo")
		c.expect(id + ": 1 path of box try in " + filepath.Dir(file))
		c.expect("undo which?")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := content(t, file); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

func TestDiscardAsks(t *testing.T) {
	d := atDesk(t, map[string]string{"f": "old\n"}, "echo new > f")
	for _, row := range []struct{ answer, says, content string }{
		{"n\n", "nothing was discarded", "new"}, {"yes\n", "put back 1 path", "old"},
	} {
		c := d.forkbox("discard", "try", "f")
		c.expect("discard 1 change of box try? There is no way back. [y/N]")
		c.press(row.answer)
		c.expect(row.says)
		c.ends(0)
		if got := must(t, d.home, "exec", "try", "--", "cat", "f"); got != row.content {
			t.Errorf("%q", got)
		}
	}
}

func TestRemovingWorkAsks(t *testing.T) {
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
	d := atDesk(t, map[string]string{"a": "old\n", "b": "old\n"}, "echo new > a; echo new > b")
	c := d.forkbox("apply", "-i", "try")
	c.expect("(1/1) Apply this hunk [y,n,q,a,d,?]?")
	c.press("n\n")
	c.expect("b/b")
	c.press("y\n")
	c.expect("landed 1 path")
	c.ends(0)
	if a, b := content(t, "a"), content(t, "b"); a != "old\n" || b != "new\n" {
		t.Errorf("%q %q", a, b)
	}
}
