//go:build linux

package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise6NothingLeaks: no process, mount, namespace, cgroup or file is
// left of a box that is gone, however it went.
func TestPromise6NothingLeaks(t *testing.T) {
	t.Parallel()
	t.Run("Life", leakAfterLife)
	t.Run("InitKilled", leakAfterInitKilled)
	t.Run("FilesOfTheDaemon", leakOfFiles)
	t.Run("FailureAtEveryStep", leakAtEveryStep)
	t.Run("DaemonKilled", leakAfterDaemonKilled)
	t.Run("DaemonKilledWhileItsChildWaits", leakAfterFrozenDaemonKilled)
	t.Run("SpareOfAKilledDaemon", leakOfASpare)
	t.Run("FailedStart", leakAfterFailedStart)
}

func leakAfterLife(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	r := l.Start(box)
	names := namespacesOf(r)
	if len(names) != len(kinds) || len(processesOf(p.home)) == 0 || len(namespacesHeld(names)) == 0 {
		t.Fatalf("the test is blind: %v %v", names, processesOf(p.home))
	}
	r.Sh("setsid sleep 1000 >/dev/null 2>&1 & mkdir -p /tmp/x/y; echo >/dev/shm/x")
	forget := keepNumbers(t, r)
	must(t, r.Instance.Stop(context.Background(), 0))
	if left := processesOf(p.home); left != nil {
		t.Errorf("processes are left: %q", left)
	}
	if left := namespacesHeld(names); left != nil {
		t.Errorf("namespaces are left: %q", left)
	}
	forget()
	must(t, p.Remove(context.Background(), box))
	nothingLeft(t, p.home)
	if left := cgroupsNamed(box.ID); left != nil {
		t.Errorf("cgroups are left: %q", left)
	}
}

// leakAfterInitKilled: the OOM killer may choose init.
func leakAfterInitKilled(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	r := l.Start(box)
	r.Sh("setsid sleep 1000 >/dev/null 2>&1 &")
	must(t, syscall.Kill(r.Instance.(*instance).process.PID, syscall.SIGKILL))
	select {
	case <-r.Instance.Done():
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed")
	}
	nothingRuns(t, p.home)
	if _, err := p.Attach(context.Background(), box); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("attach: %v", err)
	}
	l.Start(box).Sh("true")
}

// leakOfFiles: twenty lives leave no descriptor open in the daemon.
func leakOfFiles(t *testing.T) {
	t.Parallel()
	home := providertest.TempDir(t)
	argv := providertest.Tool("cycle", home, "20")
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	nothingLeft(t, home)
}

// leakAfterFailedStart: nothing but the data is left, and no socket that
// would be taken for a box.
func leakAfterFailedStart(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	before := storeFiles(t, p.home)
	broken, builder := *p, *p.builder
	broken.builder = &builder
	builder.program = os.NewFile(^uintptr(0), "no program")
	if _, err := (&broken).Start(context.Background(), box); err == nil {
		t.Fatal("it started without a program")
	}
	nothingRuns(t, p.home)
	for _, path := range storeFiles(t, p.home) {
		if strings.HasSuffix(path, ".sock") {
			t.Errorf("%s is left of %q", path, before)
		}
	}
	l.Start(box).Sh("true")
}

// leakAtEveryStep makes each step of the script fail in turn: there is no
// state from which the child would not end, or something outlive it.
func leakAtEveryStep(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	steps := 1
	for i := 0; i < steps; i++ {
		steps = failAt(t, p, box, i)
	}
	t.Logf("%d steps", steps)
	nothingRuns(t, p.home)
	l.Start(box).Sh("true")
}

// failAt plays the script as the provider does, with one step that no kernel
// has. It returns how many steps there are.
func failAt(t *testing.T, p *Provider, box forkbox.Box, i int) int {
	t.Helper()
	plan := planFor(t, p, box)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // init cannot listen on it, and ends
	must(t, err)
	reached, notify, err := os.Pipe()
	must(t, err)
	wait, resume, err := os.Pipe()
	must(t, err)
	defer wire.CloseAll(null, reached, notify, wait, resume)
	plan.listener, plan.stderr = int(null.Fd()), int(null.Fd())
	plan.notify, plan.resume, plan.resumeEnd = int(notify.Fd()), int(wait.Fd()), int(resume.Fd())

	script := plan.script()
	steps := reflect.ValueOf(script).Elem().FieldByName("steps")
	if i >= steps.Len() {
		return steps.Len() // a socket of the host that it would have hidden is gone
	}
	step := steps.Index(i)
	*(*uintptr)(unsafe.Pointer(step.FieldByName("nr").UnsafeAddr())) = 0xfff
	child, err := script.Fork(plan.forkFlags())
	must(t, err)
	notify.Close()
	if n, _ := reached.Read(make([]byte, 1)); n == 1 {
		must(t, linux.MapAll(child.PID))
		must(t, resumeChild(resume))
	}
	skipped, err := child.Wait(time.Minute)
	if mayFail := step.FieldByName("skip").Int() != 0; err == nil && !(mayFail && len(skipped) == 1) {
		t.Errorf("step %d of %d could not be done, and nobody noticed", i, steps.Len())
	}
	must(t, child.Hold().Wait())
	return steps.Len()
}

// leakAfterDaemonKilled: kill -9 of the daemon at every moment of a start.
func leakAfterDaemonKilled(t *testing.T) {
	t.Parallel()
	_, l := lab(t)
	attached := 0
	for i := range 24 {
		p := l.Provider.(*Provider)
		box := l.Box()
		d := startDaemon(t, order{Home: p.home, Box: box})
		d.expect("starting")
		time.Sleep(time.Duration(i) * 400 * time.Microsecond) // somewhere; not asserted on
		d.kill()
		if endOrphan(t, p, box) {
			attached++
		}
		must(t, p.Remove(context.Background(), box))
	}
	t.Logf("found %d of 24 running", attached)
	p := l.Provider.(*Provider)
	nothingLeft(t, p.home)
}

// leakAfterFrozenDaemonKilled: the daemon is frozen as soon as it has forked,
// so that the child comes to where it waits for the daemon, if it ever does.
// Then the daemon dies: the child has to end, or become a box that is found.
func leakAfterFrozenDaemonKilled(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	for range 3 {
		box := l.Box()
		d := startDaemon(t, order{Home: p.home, Box: box})
		d.expect("starting")
		providertest.Eventually(t, "the daemon forks", func() bool { return len(childrenOf(d.cmd.Process.Pid)) > 0 })
		must(t, d.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(50 * time.Millisecond) // not asserted on
		d.kill()
		endOrphan(t, p, box)
		must(t, p.Remove(context.Background(), box))
	}
	nothingLeft(t, p.home)
}

// leakOfASpare: only the daemon that made a spare knows of it.
func leakOfASpare(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	box := l.Box()
	d := startDaemon(t, order{Home: p.home, Box: box, Spare: true})
	for _, word := range []string{"starting", "started", "running"} {
		d.expect(word)
	}
	d.kill()
	next, err := openStore(p.home) // the daemon that comes after it
	must(t, err)
	for _, path := range storeFiles(t, p.home) {
		if strings.Contains(path, sparePrefix) {
			t.Errorf("%s is left", path)
		}
	}
	if !endOrphan(t, next, box) {
		t.Error("the box went with the spare")
	}
	must(t, next.Remove(context.Background(), box))
	nothingLeft(t, p.home)
}

func childrenOf(pid int) (list []string) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		raw, _ := os.ReadFile(f)
		list = append(list, strings.Fields(string(raw))...)
	}
	return list
}

// endOrphan does what a daemon does on its start with a box of which it knows
// only that it may run.
func endOrphan(t *testing.T, p *Provider, box forkbox.Box) (ran bool) {
	t.Helper()
	providertest.Eventually(t, "the box is found or not found", func() bool {
		inst, err := p.Attach(context.Background(), box)
		if err != nil {
			return forkbox.CodeOf(err) == forkbox.NotFound
		}
		ran = true
		must(t, inst.Stop(context.Background(), 0))
		return true
	})
	return ran
}
