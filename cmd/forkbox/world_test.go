//go:build linux

package main

import (
	"context"
	"errors"
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
// tests of a kind need beyond that is in a type that has one of the two.
type world struct {
	*testing.T
	home, root string
	env        []string // of commands and daemons, beside the home
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

// forkboxCommand is a forkbox with that home. Every command of a test and every
// daemon gets its environment here.
func forkboxCommand(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("forkbox", args...)
	cmd.Env = append(os.Environ(), homeEnv(home)...)
	return cmd
}

// worldPatience is how long something may take that has to happen: it is only
// waited for so long when a test fails.
const worldPatience = 3 * time.Minute

// until waits for a condition.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(worldPatience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	w.Fatalf("it never comes to this: %s\n%s", what, w.log())
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
