package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// countdown is a context that kills its process when it has been asked left
// times whether it is done: operations ask before each of their steps.
type countdown struct {
	context.Context
	left *atomic.Int64
}

func (c countdown) Err() error {
	if c.left.Add(-1) < 0 {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
	return nil
}

// operations are what a process is killed in.
var operations = map[string]func(ctx context.Context, home string) error{
	"init": func(ctx context.Context, home string) error { return Init(ctx, home, 1<<30) },
	"open": func(ctx context.Context, home string) error {
		_, err := Open(ctx, home)
		return errors.Join(err, ctx.Err()) // it is a daemon, which is killed some time
	},
	"grow": func(ctx context.Context, home string) error {
		p, err := Open(context.WithoutCancel(ctx), home)
		if err != nil {
			return err
		}
		return p.Grow(ctx, 2<<30)
	},
}

// kill runs an operation in a process that dies at a step. done says that it
// has no such step.
func kill(t *testing.T, op, home string, step int, env ...string) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKilledProcess$", "-test.v")
	cmd.Env = append(append(os.Environ(), "POOL_KILL_AT="+strconv.Itoa(step), "POOL_KILL_OP="+op, "POOL_KILL_HOME="+home), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case err == nil && strings.Contains(out.String(), "came to its end"):
		return true
	case cmd.ProcessState != nil && fmt.Sprint(cmd.ProcessState) == "signal: killed":
		return false
	}
	t.Fatalf("%s, killed at step %d: %v\n%s", op, step, err, out.String())
	return false
}

// TestKilledProcess is what kill runs.
func TestKilledProcess(t *testing.T) {
	at, err := strconv.ParseInt(os.Getenv("POOL_KILL_AT"), 10, 64)
	if err != nil {
		return // no process is to be killed
	}
	ctx := countdown{context.Background(), new(atomic.Int64)}
	ctx.left.Store(at)
	must(t, operations[os.Getenv("POOL_KILL_OP")](ctx, os.Getenv("POOL_KILL_HOME")))
	fmt.Println("came to its end")
}

// TestInitKilled: whenever it dies there is no pool or a whole one, and the
// next attempt makes one.
func TestInitKilled(t *testing.T) {
	inOwnMounts(t, 0, func(home string) {
		for step := 0; ; step++ {
			done := kill(t, "init", home, step)
			wantNoneOrWhole(t, home)
			if done && step < 4 {
				t.Errorf("it has %d steps only", step)
			}
			if done {
				return
			}
		}
	})
}

// TestInitKilledInMkfs: the file that mkfs goes on writing to is not the next
// one.
func TestInitKilledInMkfs(t *testing.T) {
	inOwnMounts(t, 0, func(home string) {
		bin, mkfs := t.TempDir(), mustFind(t, "mkfs.btrfs")
		script := fmt.Sprintf("#!/bin/sh\nkill -9 $PPID\nexec %s \"$@\" </dev/null >/dev/null 2>&1\n", mkfs)
		must(t, os.WriteFile(filepath.Join(bin, "mkfs.btrfs"), []byte(script), 0o755))
		if kill(t, "init", home, 1<<30, "PATH="+bin+":"+os.Getenv("PATH")) {
			t.Fatal("nobody killed it")
		}
		wantNoneOrWhole(t, home)
	})
}

func mustFind(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	must(t, err)
	return path
}

// wantNoneOrWhole leaves the home without a pool.
func wantNoneOrWhole(t *testing.T, home string) {
	t.Helper()
	wantNoLoop(t, home)
	p, err := Open(t.Context(), home)
	must(t, err)
	if p == nil {
		must(t, Init(t.Context(), home, 1<<30))
		p = open(t, home)
	}
	must(t, os.WriteFile(filepath.Join(p.Dir(), "f"), []byte("text"), 0o600))
	must(t, Remove(t.Context(), home))
	if names, err := os.ReadDir(home); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestDaemonKilled: the next one uses what was left mounted, and what was
// written before.
func TestDaemonKilled(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		for step := range 3 {
			kill(t, "open", home, step)
			p := open(t, home)
			if loops := loopsOf(t, home); len(loops) != 1 {
				t.Errorf("it has the loop devices %q", loops)
			}
			must(t, os.WriteFile(filepath.Join(p.Dir(), strconv.Itoa(step)), nil, 0o600))
			if step == 1 { // the machine was started again
				must(t, p.Close(t.Context()))
			}
		}
		p := open(t, home)
		for step := range 3 {
			if !exists(filepath.Join(p.Dir(), strconv.Itoa(step))) {
				t.Errorf("%d is lost", step)
			}
		}
		must(t, p.Close(t.Context()))
	})
}

// TestGrowKilled: it is finished by the next Open.
func TestGrowKilled(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		for step := 0; !kill(t, "grow", home, step); step++ {
			p := open(t, home)
			info, err := os.Stat(File(home))
			must(t, err)
			wantSize(t, p, info.Size())
		}
		p := open(t, home)
		wantSize(t, p, 2<<30)
		must(t, p.Close(t.Context()))
	})
}

func wantSize(t *testing.T, p *Pool, size int64) {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(p.Dir(), &st))
	if got := int64(st.Blocks) * int64(st.Frsize); got != size {
		t.Errorf("the filesystem has %d bytes, want %d", got, size)
	}
}

// TestOneLoopDevice: however many open the pool at once.
func TestOneLoopDevice(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := Open(t.Context(), home); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if loops := loopsOf(t, home); len(loops) != 1 {
			t.Errorf("it has the loop devices %q", loops)
		}
		must(t, open(t, home).Close(t.Context()))
	})
}
