//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox/client"
)

// world is what a test of the real binary lives in: a home, which makes its
// daemon one of its own, and a directory of reality that its commands stand in.
// The daemon starts on demand; in [served] it is a child of the test. What the
// tests of a kind need beyond that is in a type that has one of the two: landWorld,
// raceWorld, limitWorld, snapWorld, desk and others.
type world struct {
	*testing.T
	home, root string
	env        []string // of commands and daemons, beside the home
}

// newWorld makes one that ends with the test.
func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	w := makeWorld(t, "", "reality")
	w.env = env
	t.Cleanup(func() { removeHome(t, w.home) })
	return &w
}

// makeWorld makes one below dir, or where temporary files lie. What it has is
// removed by who ends it.
func makeWorld(t *testing.T, dir, root string) world {
	t.Helper()
	top, err := os.MkdirTemp(dir, "fbtest-") // short: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	w := world{T: t, home: filepath.Join(top, "h"), root: filepath.Join(top, root)}
	w.ok(os.Mkdir(w.root, 0o755))
	return w
}

// configure gives its daemons a configuration, and nothing of the environment that
// the tests run in.
func (w *world) configure(config string) {
	w.Helper()
	w.ok(os.WriteFile(w.file("config.yaml"), []byte(config), 0o644))
	w.env = append(w.env, "FORKBOX_CONFIG="+w.file("config.yaml"), "FORKBOX_LAYERS=", "FORKBOX_SOCKET=")
}

// file is one beside the home.
func (w *world) file(name string) string { return filepath.Join(filepath.Dir(w.home), name) }

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v\n%s", err, w.log())
	}
}

// log is the end of what the daemons had to say.
func (w *world) log() string {
	text, err := os.ReadFile(w.file("log"))
	if err != nil { // one that starts on demand has it in its home
		text, _ = os.ReadFile(filepath.Join(w.home, "daemon.log"))
	}
	return string(text[max(0, len(text)-4000):])
}

// daemonPeak is the most memory that the daemon has had so far, in KiB.
func (w *world) daemonPeak() int {
	w.Helper()
	pid, err := os.ReadFile(filepath.Join(w.home, "daemon.pid"))
	w.ok(err)
	kib, err := peakOf(strings.TrimSpace(string(pid)))
	w.ok(err)
	return kib
}

// command is a forkbox of this world.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := forkboxCommand(w.home, args...)
	cmd.Env = append(cmd.Env, w.env...)
	cmd.Dir = w.root
	return cmd
}

// cli runs a command line to its end.
func (w *world) cli(args ...string) (stdout, stderr string, code int) {
	w.Helper()
	return w.finish(w.command(args...))
}

// finish runs a command to its end.
func (w *world) finish(cmd *exec.Cmd) (stdout, stderr string, code int) {
	w.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := runBounded(cmd)
	return out.String(), errs.String(), exitCode(err)
}

// runBounded runs a command that nothing may hang: its end is a test's failure, not
// that of all tests.
func runBounded(cmd *exec.Cmd) error {
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), worldPatience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	err := cmd.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("it does not end: %w", err)
	}
	return err
}

// combined is what a command says on both stdout and stderr.
func combined(cmd *exec.Cmd) (string, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := runBounded(cmd)
	return out.String(), err
}

// must runs a command line that has to succeed.
func (w *world) must(args ...string) string {
	w.Helper()
	out, errs, code := w.cli(args...)
	if code != 0 {
		w.Fatalf("forkbox %q: exit %d\n%.4000s%.4000s\n%s", args, code, out, errs, w.log())
	}
	return strings.TrimSpace(out)
}

// refused runs one that forkbox itself has to refuse, and finds words in what
// it says.
func (w *world) refused(words []string, args ...string) string {
	w.Helper()
	out, errs, code := w.cli(args...)
	if code != 125 {
		w.Fatalf("forkbox %q was not refused: exit %d\n%.4000s%.4000s", args, code, out, errs)
	}
	for _, word := range words {
		if !strings.Contains(errs, word) {
			w.Errorf("forkbox %q does not say %q, but: %.4000s", args, word, errs)
		}
	}
	return errs
}

// reads runs a verb with --json and takes its answer apart.
func (w *world) reads(into any, args ...string) {
	w.Helper()
	out := w.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		w.Fatalf("forkbox %q --json: %v\n%.4000s", args, err, out)
	}
}

// sh runs a script in a box and returns what it printed.
func (w *world) sh(box, script string) string {
	w.Helper()
	return w.must("exec", box, "--", "sh", "-c", script)
}

// kill ends the daemon that was started on demand as a crash does, and stop as its
// user does.
func (w *world) kill() { w.Helper(); kill(w.T, w.home) }
func (w *world) stop() { w.Helper(); stopDaemon(w.T, w.home) }

// newClient speaks to the daemon that was started on demand.
func (w *world) newClient() *client.Client {
	c := client.New(filepath.Join(w.home, "forkbox.sock"))
	w.Cleanup(c.Close)
	return c
}

// forkboxCommand is a forkbox with that home. Every command of a test and every
// daemon gets its environment here.
func forkboxCommand(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("forkbox", args...)
	cmd.Env = append(os.Environ(), homeEnv(home)...)
	return cmd
}

// until waits for a condition.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	if !comes(holds) {
		w.Fatalf("it never comes to this: %s\n%s", what, w.log())
	}
}

// served is a world whose daemon is a child of the test, which speaks to it
// through package client.
type served struct {
	world
	daemon *exec.Cmd
	start  func(t *testing.T, daemon *exec.Cmd) error // nil: as any command is
	*client.Client
}

// serve starts a daemon and waits until it answers.
func (w *served) serve() {
	w.Helper()
	log, err := os.OpenFile(w.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.ok(err)
	defer log.Close()
	w.daemon = w.command("serve")
	w.daemon.Stdout, w.daemon.Stderr = log, log
	if w.start != nil {
		w.ok(w.start(w.T, w.daemon))
	} else {
		w.ok(w.daemon.Start())
	}
	w.Client = client.New(filepath.Join(w.home, "forkbox.sock"))
	w.until("the daemon answers", func() bool { return w.Ping(w.Context()) == nil })
}

// kill ends the daemon as a crash does.
func (w *served) kill() {
	w.Helper()
	w.ok(w.daemon.Process.Kill())
	_ = w.daemon.Wait()
	w.Client.Close()
}

func (w *served) restart() {
	w.Helper()
	w.kill()
	w.serve()
}

// end removes the boxes, which would outlive their daemon, and everything else.
func (w *served) end() {
	w.endDaemon()
	removeHome(w.T, w.home)
}

func (w *served) endDaemon() {
	if w.daemon == nil {
		return
	}
	w.removeBoxes()
	_ = w.daemon.Process.Signal(syscall.SIGTERM)
	_ = w.daemon.Wait()
	w.Client.Close()
}

func (w *served) removeBoxes() {
	if w.daemon.ProcessState != nil { // a test that failed while it was gone
		w.serve()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	boxes, err := w.Boxes(ctx)
	for _, b := range boxes {
		err = errors.Join(err, w.Remove(ctx, b.ID, true))
	}
	if err != nil {
		w.Errorf("cannot remove the boxes: %v\n%s", err, w.log())
	}
}
