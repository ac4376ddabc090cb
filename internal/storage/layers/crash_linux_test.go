package layers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// countdown is a context that something happens to when it has been asked
// left times whether it is done: operations ask before each of their steps.
type countdown struct {
	context.Context
	left  int
	fired bool
	fire  func()
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 && !c.fired {
		c.fired = true
		if c.fire != nil {
			c.fire()
		}
	}
	if c.fired {
		return context.Canceled
	}
	return nil
}

// operations are what is interrupted. Each is done to a box "b" with something
// in it, whose layer is "K", and to a box "bare" without a top.
var operations = map[string]func(context.Context, *Store) error{
	"save still": func(ctx context.Context, s *Store) error {
		_, err := s.Save(ctx, "b", "L", true)
		return err
	},
	"save busy": func(ctx context.Context, s *Store) error {
		_, err := s.Save(ctx, "b", "L", false)
		return err
	},
	"clone":        func(ctx context.Context, s *Store) error { return s.Clone(ctx, "K", "bare") },
	"drop":         func(ctx context.Context, s *Store) error { return s.DropTop(ctx, "b") },
	"remove":       func(ctx context.Context, s *Store) error { return s.Remove(ctx, "b") },
	"remove layer": func(ctx context.Context, s *Store) error { return s.RemoveLayer(ctx, "K") },
}

// scene makes a store to interrupt something in, and tells what is in the box.
func scene(t *testing.T, p place) (*Store, map[string]string) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	dir := filepath.Join(upper, "d")
	must(t, os.Mkdir(dir, 0o755))
	write(t, filepath.Join(upper, "big"), strings.Repeat("x", 100<<10))
	must(t, os.Link(filepath.Join(upper, "big"), filepath.Join(dir, "link")))
	must(t, os.Symlink("big", filepath.Join(dir, "symlink")))
	must(t, unix.Mknod(filepath.Join(dir, "whiteout"), unix.S_IFCHR, 0))
	_, err := s.Save(t.Context(), "b", "K", false)
	must(t, err)
	must(t, s.Create(t.Context(), "bare"))
	return s, fingerprint(t, s.Upper("b"))
}

// recovered checks that what is there is whole, and that the operation can be
// done again and ends as if it had not been interrupted.
func recovered(t *testing.T, s *Store, op string, want map[string]string) {
	t.Helper()
	wantOnlyWhole(t, s, want)
	must(t, s.EmptyTrash(t.Context()))
	wantOnlyWhole(t, s, want)
	wantSwept(t, s)
	if err := operations[op](t.Context(), s); err != nil && !doneBefore(op, err) {
		t.Fatalf("%s again: %v", op, err)
	}
	must(t, s.EmptyTrash(t.Context()))
	wantOnlyWhole(t, s, want)
	wantWhole(t, s)
	for what, there := range map[string]bool{
		"save still": s.HasLayer("L"), "save busy": s.HasLayer("L") && exists(s.Top("b")), "clone": exists(s.Top("bare")),
		"drop": !exists(s.Top("b")), "remove": !exists(s.Dir("b")), "remove layer": !s.HasLayer("K"),
	} {
		if what == op && !there {
			t.Errorf("%s has not come to its end", op)
		}
	}
}

// doneBefore: a clone that was whole when it was interrupted is not repeated.
func doneBefore(op string, err error) bool {
	return op == "clone" && forkbox.CodeOf(err) == forkbox.Exists
}

// wantOnlyWhole: what has its proper name is complete.
func wantOnlyWhole(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	for _, dir := range []string{s.Upper("b"), s.Upper("bare"), s.Layer("K"), s.Layer("L")} {
		if exists(filepath.Dir(dir)) {
			sameTree(t, dir, want, fingerprint(t, dir))
		}
	}
	layers, err := s.Layers()
	must(t, err)
	for _, layer := range layers {
		if layer != "K" && layer != "L" {
			t.Errorf("there is a layer %q", layer)
		}
	}
	if !exists(s.Top("b")) && !s.HasLayer("K") && !s.HasLayer("L") {
		t.Error("nothing is left of the box")
	}
}

// cancelled interrupts every operation before each of its steps.
func cancelled(t *testing.T, p place) {
	for op, do := range operations {
		for n := 0; ; n++ {
			s, want := scene(t, p)
			ctx := &countdown{Context: t.Context(), left: n}
			err := do(ctx, s)
			if (err != nil) != ctx.fired && !s.Stacks() {
				t.Fatalf("%s, cancelled at step %d (%v): %v", op, n, ctx.fired, err)
			}
			if !strings.HasPrefix(op, "remove") && op != "drop" {
				wantWhole(t, s) // it cleans up after itself
			}
			recovered(t, s, op, want)
			if !ctx.fired {
				break
			}
		}
	}
}

// killed does the same with a process that is killed there.
func killed(t *testing.T, p place) {
	for op := range operations {
		for n := 0; ; n++ {
			s, want := scene(t, p)
			done := kill(t, s, op, n)
			recovered(t, p.reopen(t, s.home), op, want)
			if done && n == 0 {
				t.Errorf("%s has no step to be killed at", op)
			}
			if done {
				break
			}
		}
	}
}

// kill runs the operation in a process of its own, which ends at a step. done
// says that the operation has no such step.
func kill(t *testing.T, s *Store, op string, n int) (done bool) {
	t.Helper()
	name, _ := s.Driver()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKilledProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "LAYERS_KILL_AT="+strconv.Itoa(n), "LAYERS_KILL_OP="+op, "LAYERS_KILL_HOME="+s.home, "LAYERS_KILL_DRIVER="+name)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "came to its end"):
		return true
	case cmd.ProcessState != nil && fmt.Sprint(cmd.ProcessState) == "signal: killed":
		return false
	}
	t.Fatalf("%s, killed at step %d: %v\n%s", op, n, err, out)
	return false
}

// TestKilledProcess is what kill runs.
func TestKilledProcess(t *testing.T) {
	at, err := strconv.Atoi(os.Getenv("LAYERS_KILL_AT"))
	if err != nil {
		return // no process is to be killed
	}
	s := place{driver: os.Getenv("LAYERS_KILL_DRIVER")}.reopen(t, os.Getenv("LAYERS_KILL_HOME"))
	ctx := &countdown{Context: t.Context(), left: at, fire: func() {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}}
	must(t, operations[os.Getenv("LAYERS_KILL_OP")](ctx, s))
	fmt.Println("came to its end")
}
