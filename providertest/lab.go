package providertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// patience is how long anything may take before a test gives up: far longer
// than it ever does, also on a machine that is busy with other things.
const patience = 30 * time.Second

// logCap is what execs may keep unless a test says otherwise.
const logCap = 1 << 20

// Lab makes boxes and runs commands in them.
type Lab struct {
	Fixture
	t testing.TB
}

// NewLab is a lab whose boxes end with t.
func NewLab(t testing.TB, f Fixture) *Lab { return &Lab{Fixture: f, t: t} }

var serial atomic.Int64

// Box makes a box at rest that is removed with the test. Each change is
// applied to it first.
func (l *Lab) Box(changes ...func(*forkbox.Box)) forkbox.Box {
	l.t.Helper()
	n := serial.Add(1)
	box := forkbox.Box{
		ID:    fmt.Sprintf("t%dn%d", os.Getpid(), n),
		Name:  fmt.Sprintf("test-box-%d", n),
		Net:   forkbox.NetNone,
		Owner: l.Owner,
		Dir:   "/",
		Base:  forkbox.Base{Kind: "reality", Fence: time.Now()},
	}
	for _, change := range changes {
		change(&box)
	}
	if err := l.Provider.Prepare(context.Background(), box); err != nil {
		l.t.Fatalf("prepare: %v", err)
	}
	l.t.Cleanup(func() {
		if err := l.Provider.Remove(context.Background(), box); err != nil {
			l.t.Errorf("remove: %v", err)
		}
	})
	return box
}

// Running is a box with an instance.
type Running struct {
	Box      forkbox.Box
	Instance forkbox.Instance
	Listed   []string // what ran when Watch was called
	lab      *Lab
	*book
}

// book has the exits of a box.
type book struct {
	next  atomic.Int64
	mu    sync.Mutex
	exits map[string]chan End
	count map[string]int
}

// with is the same box, for another test to fail in.
func (r *Running) with(t testing.TB) *Running {
	lab := *r.lab
	lab.t = t
	other := *r
	other.lab = &lab
	return &other
}

// End is how an exec ended.
type End struct {
	Exit   forkbox.Exit
	Output forkbox.Output
}

// Start starts a box; it is stopped with the test.
func (l *Lab) Start(box forkbox.Box) *Running {
	l.t.Helper()
	inst, err := l.Provider.Start(context.Background(), box)
	if err != nil {
		l.t.Fatalf("start: %v", err)
	}
	return l.watch(box, inst)
}

// Attach finds a box that runs.
func (l *Lab) Attach(box forkbox.Box) *Running {
	l.t.Helper()
	inst, err := l.Provider.Attach(context.Background(), box)
	if err != nil {
		l.t.Fatalf("attach: %v", err)
	}
	return l.watch(box, inst)
}

func (l *Lab) watch(box forkbox.Box, inst forkbox.Instance) *Running {
	l.t.Helper()
	r := &Running{Box: box, Instance: inst, lab: l,
		book: &book{exits: map[string]chan End{}, count: map[string]int{}}}
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := inst.Stop(ctx, 0); err != nil {
			l.t.Errorf("stop: %v", err)
		}
	})
	listed, err := inst.Watch(func(id string, exit forkbox.Exit, out forkbox.Output) {
		r.mu.Lock()
		r.count[id]++
		r.mu.Unlock()
		select {
		case r.exit(id) <- End{exit, out}:
		default: // a second exit of the same exec: see Deliveries
		}
	})
	if err != nil {
		l.t.Fatalf("watch: %v", err)
	}
	r.Listed = listed
	return r
}

// Deliveries is how often the exit of an exec was delivered.
func (r *book) Deliveries(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[id]
}

func (r *book) exit(id string) chan End {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exits[id] == nil {
		r.exits[id] = make(chan End, 1)
	}
	return r.exits[id]
}

// Wait is how the exec ended.
func (r *Running) Wait(id string) End {
	r.lab.t.Helper()
	select {
	case e := <-r.exit(id):
		return e
	case <-time.After(patience):
		r.lab.t.Fatalf("exec %s did not end", id)
		return End{}
	}
}

// ID is a new one for an exec.
func (r *book) ID() string { return fmt.Sprint(r.next.Add(1)) }

// Exec starts a command. A spec without an environment gets [Lab.Env].
func (r *Running) Exec(id string, spec forkbox.ExecSpec, stdio forkbox.Stdio, limit int64) error {
	r.lab.t.Helper()
	spec = r.lab.Fill(r.Box, id, spec)
	log := r.lab.LogFile(r.Box.ID, id)
	return r.Instance.Exec(context.Background(), id, spec, r.Box.Owner, stdio, log, limit)
}

// Fill gives a spec the directory and environment that a test need not say.
func (l *Lab) Fill(box forkbox.Box, id string, spec forkbox.ExecSpec) forkbox.ExecSpec {
	if spec.Dir == "" {
		spec.Dir = box.Dir
	}
	if spec.Env == nil {
		spec.Env = l.Env(box, id)
	}
	return spec
}

// Env is a plain environment with a mark by which the host finds what an exec
// started.
func (l *Lab) Env(box forkbox.Box, id string) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + box.Owner.Home, "LC_ALL=C", "TERM=xterm", mark(box, id),
	}
}

func mark(box forkbox.Box, id string) string { return "FBTEST_MARK=" + box.ID + "/" + id + "/" }

// Result is an exec that ended, with all it wrote.
type Result struct {
	ID             string
	Stdout, Stderr string
	End
}

// Run runs a command to its end.
func (r *Running) Run(spec forkbox.ExecSpec, stdin io.Reader) Result {
	r.lab.t.Helper()
	res, err := r.Try(spec, stdin)
	if err != nil {
		r.lab.t.Fatalf("exec %q: %v", spec.Argv, err)
	}
	return res
}

// Try is Run for a command that may not start.
func (r *Running) Try(spec forkbox.ExecSpec, stdin io.Reader) (Result, error) {
	r.lab.t.Helper()
	id := r.ID()
	stdio, ends := r.lab.Pipes()
	defer ends.Close()
	if err := r.Exec(id, spec, stdio, logCap); err != nil {
		return Result{}, err
	}
	var stdout, stderr bytes.Buffer
	var group sync.WaitGroup
	group.Go(func() { _, _ = io.Copy(&stdout, ends.Out) })
	group.Go(func() { _, _ = io.Copy(&stderr, ends.Err) })
	group.Go(func() {
		if stdin != nil {
			_, _ = io.Copy(ends.In, stdin)
		}
		ends.In.Close()
	})
	end := r.Wait(id)
	// Whatever the exec left behind may keep its output open for ever.
	waitFor(&group, 2*time.Second, ends)
	return Result{ID: id, Stdout: stdout.String(), Stderr: stderr.String(), End: end}, nil
}

// waitFor waits for the group; after a while it shuts the ends that it reads.
func waitFor(group *sync.WaitGroup, after time.Duration, ends forkbox.Stdio) {
	timer := time.AfterFunc(after, ends.Close)
	defer timer.Stop()
	group.Wait()
}

// Sh runs a script in the box, which has to succeed, and returns what it wrote.
func (r *Running) Sh(script string) string {
	r.lab.t.Helper()
	res := r.Run(Shell(script), nil)
	if res.Exit.Code != 0 {
		r.lab.t.Fatalf("%s: exit %+v\n%s%s", script, res.Exit, res.Stdout, res.Stderr)
	}
	return strings.TrimSpace(res.Stdout)
}

// Fails runs a script that has to fail.
func (r *Running) Fails(script string) {
	r.lab.t.Helper()
	if res := r.Run(Shell(script), nil); res.Exit.Code == 0 {
		r.lab.t.Errorf("%s: succeeded\n%s%s", script, res.Stdout, res.Stderr)
	}
}

// Shell is the spec of a script.
func Shell(script string) forkbox.ExecSpec {
	return forkbox.ExecSpec{Argv: []string{"sh", "-c", script}}
}

// Pipes makes the ends for an exec and ours.
func (l *Lab) Pipes() (theirs, ours forkbox.Stdio) {
	l.t.Helper()
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			l.t.Fatal(err)
		}
		return r, w
	}
	theirs.In, ours.In = pipe()
	ours.Out, theirs.Out = pipe()
	ours.Err, theirs.Err = pipe()
	return theirs, ours
}

// Tree makes a directory in reality with the given files; it goes with the
// test. The user who tests owns it, and all users may read it.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := TempDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TempDir is a directory that goes with the test.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Eventually polls until what is true.
func Eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// Marked counts the processes of the host that an exec (or, with an empty id,
// any exec of the box) started and that still live.
func Marked(box forkbox.Box, id string) int {
	want := []byte(strings.TrimSuffix(mark(box, id), "/"))
	if id != "" {
		want = []byte(mark(box, id))
	}
	n := 0
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, want) {
			n++
		}
	}
	return n
}
