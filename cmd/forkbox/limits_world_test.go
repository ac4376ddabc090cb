//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// limitWorld is a forkbox with a daemon and a configuration of its own.
type limitWorld struct {
	*testing.T
	home, root string
	self       string // the program that is every hog
	daemon     *exec.Cmd
	*client.Client
}

// calm is a configuration in which no request waits because other tests keep this
// machine busy.
const calm = "admission: {pressure: {memory: 100, io: 100}}\n"

func newLimitWorld(t *testing.T, config string) *limitWorld {
	t.Helper()
	return newLimitWorldIn(t, "", config)
}

// newLimitWorldIn keeps its boxes below dir.
func newLimitWorldIn(t *testing.T, dir, config string) *limitWorld {
	t.Helper()
	top, err := os.MkdirTemp(dir, "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &limitWorld{T: t, home: filepath.Join(top, "h"), root: filepath.Join(top, "reality"), self: self}
	t.Cleanup(w.end)
	w.ok(os.Mkdir(w.root, 0o755))
	w.ok(os.WriteFile(w.file("config.yaml"), []byte(config), 0o644))
	w.serve()
	return w
}

// as is the same world for a test within the test.
func (w *limitWorld) as(t *testing.T) *limitWorld {
	same := *w
	same.T = t
	return &same
}

func (w *limitWorld) file(name string) string { return filepath.Join(filepath.Dir(w.home), name) }

func (w *limitWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v\n%s", err, w.log())
	}
}

// log is the end of what the daemons had to say.
func (w *limitWorld) log() string {
	text, _ := os.ReadFile(w.file("log"))
	return string(text[max(0, len(text)-4000):])
}

// serve starts a daemon and waits until it answers.
func (w *limitWorld) serve() {
	w.Helper()
	log, err := os.OpenFile(w.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.ok(err)
	defer log.Close()
	w.daemon = w.command("serve")
	w.daemon.Stdout, w.daemon.Stderr = log, log
	w.ok(w.daemon.Start())
	w.Client = client.New(filepath.Join(w.home, "forkbox.sock"))
	w.until("the daemon answers", func() bool { return w.Ping(w.Context()) == nil })
}

// command is a forkbox of this world, that stands in its directory of reality.
func (w *limitWorld) command(args ...string) *exec.Cmd {
	cmd := forkboxCommand(w.home, args...)
	cmd.Env = append(cmd.Env, "FORKBOX_CONFIG="+w.file("config.yaml"), "FORKBOX_LAYERS=", "FORKBOX_SOCKET=")
	cmd.Dir = w.root
	return cmd
}

// kill ends the daemon as a crash does.
func (w *limitWorld) kill() {
	w.Helper()
	w.ok(w.daemon.Process.Kill())
	_ = w.daemon.Wait()
	w.Client.Close()
}

func (w *limitWorld) restart() {
	w.Helper()
	w.kill()
	w.serve()
}

// limitPatience is how long something may take that has to happen: it is only
// waited for so long when a test fails.
const limitPatience = time.Minute

// until waits for a condition.
func (w *limitWorld) until(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(limitPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	w.Fatalf("it never comes to this: %s\n%s", what, w.log())
}

// end removes the boxes, which would outlive their daemon, and finds nothing
// left of them.
func (w *limitWorld) end() {
	if w.daemon != nil {
		w.removeBoxes()
		_ = w.daemon.Process.Signal(syscall.SIGTERM)
		_ = w.daemon.Wait()
		w.Client.Close()
	}
	w.noGroups("at the end")
	removeHome(w.T, w.home)
}

func (w *limitWorld) removeBoxes() {
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

// groups are the cgroups that boxes of this world are in.
func (w *limitWorld) groups() (found []string) {
	sum := sha256.Sum256([]byte(w.home))
	name := "forkbox-" + hex.EncodeToString(sum[:4])
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == name {
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	return found
}

func (w *limitWorld) noGroups(when string) {
	w.Helper()
	var left []string
	for range 500 {
		if left = w.groups(); len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Errorf("%s: cgroups are left: %q\n%s", when, left, w.log())
}

// needs skips where this host does not enforce a limit; where that is so,
// [TestLimitsRefused] finds it refused.
func (w *limitWorld) needs(all ...forkbox.Resource) {
	w.Helper()
	for _, r := range all {
		if how, why := w.how(r); how != forkbox.Enforced {
			w.Skipf("%s is %s here: %s", r, how, why)
		}
	}
}

func (w *limitWorld) how(r forkbox.Resource) (forkbox.How, string) {
	w.Helper()
	holds, err := w.Holds(w.Context())
	w.ok(err)
	h, told := holds[r]
	if !told {
		return forkbox.Enforced, ""
	}
	return h.How, h.Why
}

// groupBelow says whether there is a group of that name.
func groupBelow(top, name string) (found bool) {
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		found = found || err == nil && d.IsDir() && strings.HasPrefix(d.Name(), name)
		return nil
	})
	return found
}
