//go:build linux

package native

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// tools that the tests run in a box, or as a daemon to kill.
var tools = providertest.Tools{
	"daemon":       daemonTool,
	"cycle":        cycleTool,
	"syscalls":     syscallsTool,
	"send":         sendTool,
	"echo":         echoTool,
	"call":         callTool,
	"escape":       escapeTool,
	"graze":        grazeTool,
	"graze-proc":   grazeProcTool,
	"look-at-proc": lookAtProcTool,
	"visible":      visibleTool,
	"mounts":       mountsTool,
	"connect":      connectTool,
	"doors":        doorsTool,
	"knock":        knockTool,
	"second":       secondTool,
	"parent":       parentTool,
}

// order is what the daemon tool is to do. Three descriptors of each command's
// stdio follow from 3 on.
type order struct {
	Home     string
	Box      forkbox.Box
	Commands []providertest.Command
	Spare    bool // wait until there is a spare box
}

// daemonTool is a daemon that starts a box and runs commands in it, saying how
// far it is, until it is killed.
func daemonTool(args []string) int {
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return report(err)
	}
	p, err := openStore(o.Home)
	if err != nil {
		return report(err)
	}
	if o.Spare {
		plan, err := p.builder.outline(o.Box)
		if err != nil {
			return report(err)
		}
		p.spares.stock(plan) // as if another box had just been made
	}
	fmt.Println("starting")
	inst, err := p.Start(context.Background(), o.Box)
	if err != nil {
		return report(err)
	}
	if _, err := inst.Watch(func(string, forkbox.Exit, forkbox.Output) {}); err != nil {
		return report(err)
	}
	fmt.Println("started")
	for i, c := range o.Commands {
		file := func(n int) *os.File { return os.NewFile(uintptr(3+3*i+n), "stdio") }
		log, err := os.Create(p.store.Log(o.Box.ID, c.ID))
		if err != nil {
			return report(err)
		}
		stdio := forkbox.Stdio{In: file(0), Out: file(1), Err: file(2)}
		if c.Stdio.Stream != nil {
			stdio = forkbox.Stdio{Stream: c.Stdio.Stream}
		}
		if err := inst.Exec(context.Background(), c.ID, c.Spec, o.Box.Owner, stdio, log, 1<<20); err != nil {
			return report(err)
		}
	}
	for o.Spare && !readySpare(p) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("running")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func readySpare(p *Provider) bool {
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	return len(p.spares.ready) > 0
}

// haveSpare: or will have one soon.
func haveSpare(p *Provider) bool {
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	return len(p.spares.ready) > 0 || p.spares.making || len(p.spares.recent) > 1
}

func report(err error) int {
	fmt.Println("error:", err)
	return 1
}

// daemon is a daemonTool that runs.
type daemon struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startDaemon(t testing.TB, o order) *daemon {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer null.Close()
	var files []*os.File
	for i, c := range o.Commands {
		for _, f := range []*os.File{c.Stdio.In, c.Stdio.Out, c.Stdio.Err} {
			if f == nil {
				f = null
			}
			files = append(files, f)
		}
		o.Commands[i].Stdio = forkbox.Stdio{Stream: c.Stdio.Stream}
	}
	raw, err := json.Marshal(o)
	must(t, err)
	argv := providertest.Tool("daemon", string(raw), o.Home+"/")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.ExtraFiles, cmd.Stderr = files, os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	d := &daemon{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(d.kill)
	return d
}

func (d *daemon) expect(word string) {
	d.t.Helper()
	if line, err := d.out.ReadString('\n'); strings.TrimSpace(line) != word {
		d.t.Fatalf("the daemon said %q, %v; want %q", line, err, word)
	}
}

// kill is kill -9.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

func crasher(p *Provider) func(testing.TB, forkbox.Box, ...providertest.Command) {
	return func(t testing.TB, box forkbox.Box, commands ...providertest.Command) {
		t.Helper()
		d := startDaemon(t, order{Home: p.home, Box: box, Commands: commands})
		for _, word := range []string{"starting", "started", "running"} {
			d.expect(word)
		}
		d.kill()
	}
}

// cycleTool lives n lives and fails when files stay open after them.
func cycleTool(args []string) int {
	p, err := openStore(args[0])
	if err != nil {
		return report(err)
	}
	n, _ := strconv.Atoi(args[1])
	before := 0
	for i := range n + 1 {
		if err := cycle(p, fmt.Sprintf("cycle%d", i)); err != nil {
			return report(err)
		}
		if i == 0 { // the first one warms up
			before = openFiles()
		}
	}
	deadline := time.Now().Add(time.Minute)
	for haveSpare(p) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond) // it is taken down when no box has come for a moment
	}
	for ids, _ := p.store.List(); len(ids) > 0 && time.Now().Before(deadline); ids, _ = p.store.List() {
		time.Sleep(10 * time.Millisecond)
	}
	for openFiles() > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if after := openFiles(); after > before+n/2 {
		return report(fmt.Errorf("%d files were open, now %d are", before, after))
	}
	return 0
}

func cycle(p *Provider, id string) error {
	ctx := context.Background()
	box := forkbox.Box{ID: id, Name: id, Net: forkbox.NetNone, Owner: owner()}
	if err := p.Prepare(ctx, box); err != nil {
		return err
	}
	defer p.Remove(ctx, box)
	inst, err := p.Start(ctx, box)
	if err != nil {
		return err
	}
	exits := make(chan struct{}, 1)
	if _, err := inst.Watch(func(string, forkbox.Exit, forkbox.Output) { exits <- struct{}{} }); err != nil {
		return err
	}
	for i, argv := range [][]string{{"true"}, {"no-such-command"}} {
		log, _ := os.Create(p.store.Log(id, strconv.Itoa(i)))
		spec := forkbox.ExecSpec{Argv: argv, Dir: "/", TTY: i == 0}
		if err := inst.Exec(ctx, strconv.Itoa(i), spec, box.Owner, forkbox.Stdio{}, log, 1<<20); (err != nil) != (i == 1) {
			return err
		}
	}
	<-exits
	return inst.Stop(ctx, 0)
}

func openFiles() int {
	list, _ := filepath.Glob("/proc/self/fd/*")
	return len(list)
}
