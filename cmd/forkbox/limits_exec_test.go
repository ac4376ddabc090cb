//go:build linux

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// limits reads "memory=64m pids=32".
func limits(t *testing.T, text string) forkbox.Limits {
	t.Helper()
	l := forkbox.Limits{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		v, err := forkbox.ParseLimit(forkbox.Resource(name), value)
		if err != nil {
			t.Fatal(err)
		}
		l[forkbox.Resource(name)] = v
	}
	return l
}

// create makes a box with limits, as "memory=64m pids=32".
func (w *limitWorld) create(name, text string) forkbox.Box {
	w.Helper()
	box, err := w.tryCreate(name, forkbox.Wish{Limits: limits(w.T, text)})
	w.ok(err)
	return box
}

func (w *limitWorld) tryCreate(name string, wish forkbox.Wish) (forkbox.Box, error) {
	return w.Create(w.Context(), api.CreateRequest{Name: name, Dir: w.root, Env: os.Environ(), Wish: wish})
}

func (w *limitWorld) set(box, text string) error {
	_, err := w.Set(w.Context(), box, forkbox.Wish{Limits: limits(w.T, text)})
	return err
}

func (w *limitWorld) box(ref string) forkbox.Box {
	w.Helper()
	box, err := w.Box(w.Context(), ref)
	w.ok(err)
	return box
}

// task is a command that runs in a box, and what it says.
type task struct {
	w *limitWorld
	*client.Session
	in   *os.File
	out  *os.File
	said *bufio.Reader
}

// begin runs a hog with limits of its own.
func (w *limitWorld) begin(box, text string, hog ...string) *task {
	w.Helper()
	t, err := w.tryBegin(box, forkbox.Wish{Limits: limits(w.T, text)}, hogArgv(w.self, hog...)...)
	w.ok(err)
	return t
}

func (w *limitWorld) tryBegin(box string, wish forkbox.Wish, argv ...string) (*task, error) {
	inside, in, err := os.Pipe()
	w.ok(err)
	defer inside.Close()
	out, outside, err := os.Pipe()
	w.ok(err)
	defer outside.Close()
	w.Cleanup(func() { in.Close(); out.Close() })
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: w.root}, Wish: wish}
	s, err := w.Client.Exec(w.Context(), box, req, forkbox.Stdio{In: inside, Out: outside, Err: outside})
	if err != nil {
		return nil, err
	}
	return newTask(w, s, in, out), nil
}

func newTask(w *limitWorld, s *client.Session, in, out *os.File) *task {
	return &task{w: w, Session: s, in: in, out: out, said: bufio.NewReader(out)}
}

// hears waits for a line.
func (t *task) hears(want string) {
	t.w.Helper()
	var all strings.Builder
	for {
		line, err := t.said.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, want) {
			return
		}
		if err != nil {
			t.w.Fatalf("it never said %q, but %q (%v)\n%s", want, all.String(), err, t.w.log())
		}
	}
}

// quiet waits until it says nothing any more. Who ticks every millisecond is
// not silent for so long unless it stands still.
func (t *task) quiet() {
	t.w.Helper()
	const silence = 300 * time.Millisecond
	for end := time.Now().Add(worldPatience); time.Now().Before(end); {
		t.w.ok(t.out.SetReadDeadline(time.Now().Add(silence)))
		_, err := t.said.ReadString('\n')
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.w.ok(t.out.SetReadDeadline(time.Time{}))
			return
		}
		t.w.ok(err)
	}
	t.w.Fatal("it goes on saying something")
}

// says writes a line to its stdin.
func (t *task) says(line string) {
	t.w.Helper()
	_, err := io.WriteString(t.in, line+"\n")
	t.w.ok(err)
}

// ends waits for its end, and returns what it said meanwhile.
func (t *task) ends() (forkbox.Exec, string) {
	t.w.Helper()
	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(t.said)
		rest <- string(all)
	}()
	done, err := t.Wait(t.w.Context())
	t.w.ok(err)
	t.Close()
	if done.Exit == nil {
		t.w.Fatalf("it ended without an exit: %+v", done)
	}
	return done, <-rest
}

// run runs a hog to its end.
func (w *limitWorld) run(box, text string, hog ...string) (forkbox.Exec, string) {
	w.Helper()
	return w.begin(box, text, hog...).ends()
}

// does runs a hog that has to succeed.
func (w *limitWorld) does(box string, hog ...string) string {
	w.Helper()
	done, out := w.run(box, "", hog...)
	if done.Exit.Code != 0 {
		w.Fatalf("%q in %s ended so: %+v\n%s\n%s", hog, box, *done.Exit, out, w.log())
	}
	return strings.TrimSpace(out)
}

// fails finds a code and words in an error.
func (w *limitWorld) fails(err error, code forkbox.Code, words ...string) {
	w.Helper()
	if err == nil {
		w.Fatalf("it was not refused; %s was expected", code)
	}
	text := err.Error()
	if e, ok := err.(*forkbox.Error); ok {
		text += "\n" + strings.Join(e.Hints, "\n")
	}
	if forkbox.CodeOf(err) != code {
		w.Errorf("%v is %s, not %s", err, forkbox.CodeOf(err), code)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.Errorf("it does not say %q: %s", word, text)
		}
	}
}

// events are those of a box so far.
func (w *limitWorld) events(box string) (all []forkbox.Event) {
	w.Helper()
	w.ok(w.Events(w.Context(), client.EventSpec{Box: box}, func(e forkbox.Event) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// exitCode is that of a command line.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
