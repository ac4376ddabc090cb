package providertest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

var ttyChecks = []check{
	{"IsATerminal", isATerminal},
	{"IsTheBoxsOwn", terminalIsOwn},
	{"Resize", resize},
	{"CtrlC", ctrlC},
	{"CtrlD", ctrlD},
	{"JobControl", jobControl},
	{"SignalsGoToTheForeground", foreground},
	{"ResizeWithoutTerminal", resizeWithout},
}

// screen is an exec with a terminal, and what it showed so far.
type screen struct {
	*Running
	id  string
	out forkbox.Stdio

	mu   sync.Mutex
	seen bytes.Buffer
}

func (r *Running) open(argv ...string) *screen {
	r.lab.t.Helper()
	theirs, ours := r.lab.Pipes()
	theirs.Err.Close()
	theirs.Err = nil
	r.lab.t.Cleanup(ours.Close)
	s := &screen{Running: r, id: r.ID(), out: ours}
	spec := forkbox.ExecSpec{Argv: argv, TTY: true, Size: forkbox.Size{Rows: 33, Cols: 99}}
	if err := r.Exec(s.id, spec, theirs, logCap); err != nil {
		r.lab.t.Fatal(err)
	}
	r.lab.t.Cleanup(func() { _ = r.Instance.Kill(context.Background(), s.id, 0) })
	go s.read()
	return s
}

func (s *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.out.Out.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.seen.String(), "\r", "")
}

func (s *screen) expect(text string) {
	s.lab.t.Helper()
	defer func() {
		if s.lab.t.Failed() {
			s.lab.t.Logf("the screen shows %q", s.text())
		}
	}()
	Eventually(s.lab.t, "the screen shows "+text, func() bool { return strings.Contains(s.text(), text) })
}

func (s *screen) typeIn(keys string) {
	s.lab.t.Helper()
	if _, err := s.out.In.WriteString(keys); err != nil {
		s.lab.t.Fatal(err)
	}
}

func isATerminal(t *testing.T, r *Running) {
	s := r.open("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all three; stty size; echo x >/dev/tty")
	s.expect("all three\n33 99\nx\n")
	if end := r.Wait(s.id); end.Exit.Code != 0 {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func terminalIsOwn(t *testing.T, r *Running) {
	s := r.open("sh", "-c", `case $(tty) in /dev/pts/*) test -c $(tty) && test -O $(tty) && echo mine;; *) tty;; esac`)
	s.expect("mine\n")
}

func resize(t *testing.T, r *Running) {
	s := r.open("sh", "-c", `trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.02; done`)
	s.expect("ready")
	if err := r.Instance.Resize(context.Background(), s.id, forkbox.Size{Rows: 44, Cols: 111}); err != nil {
		t.Fatal(err)
	}
	s.expect("44 111")
}

func ctrlC(t *testing.T, r *Running) {
	s := r.open("sh", "-c", "echo ready; exec sleep 1000")
	s.expect("ready")
	s.typeIn("\x03")
	want := forkbox.Exit{Code: 130, Signal: "SIGINT", Cause: forkbox.CauseSignalled}
	if end := r.Wait(s.id); end.Exit != want {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func ctrlD(t *testing.T, r *Running) {
	s := r.open("sh", "-c", "cat >/dev/null; echo end of input")
	s.typeIn("text\n\x04")
	s.expect("end of input")
}

func jobControl(t *testing.T, r *Running) {
	s := r.open("bash", "--norc", "--noprofile", "-i")
	s.typeIn("PS1='> '\nsleep 1234\n")
	Eventually(t, "sleep runs", func() bool { return strings.Contains(r.commands(), "sleep 1234") })
	s.typeIn("\x1a")
	s.expect("Stopped")
	s.typeIn("bg %1; jobs; kill %1; wait; exit 6\n")
	s.expect("Running")
	if end := r.Wait(s.id); end.Exit.Code != 6 {
		t.Errorf("ended with %+v", end.Exit)
	}
	if strings.Contains(s.text(), "no job control") {
		t.Errorf("the screen shows %q", s.text())
	}
}

func (r *Running) commands() string {
	list, _ := r.Instance.Processes(context.Background())
	var all strings.Builder
	for _, p := range list {
		all.WriteString(strings.Join(p.Command, " ") + "\n")
	}
	return all.String()
}

func foreground(t *testing.T, r *Running) {
	if !r.lab.Traits.Signals {
		return
	}
	s := r.open("bash", "--norc", "--noprofile", "-i")
	s.typeIn("PS1='> '\nsleep 4321; echo code $?\n")
	Eventually(t, "sleep runs", func() bool { return strings.Contains(r.commands(), "sleep 4321") })
	if err := r.Instance.Signal(context.Background(), s.id, term); err != nil {
		t.Fatal(err)
	}
	s.expect("code 143")
	s.typeIn("exit 0\n")
	if end := r.Wait(s.id); end.Exit.Code != 0 {
		t.Errorf("the shell ended with %+v", end.Exit)
	}
}

func resizeWithout(t *testing.T, r *Running) {
	id, _ := r.begin("echo ready; sleep 1000")
	err := r.Instance.Resize(context.Background(), id, forkbox.Size{Rows: 1, Cols: 1})
	if forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("got %v", err)
	}
	_ = r.Instance.Kill(context.Background(), id, 0)
}
