//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cgroup"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/provider/native/fileagent"
	"github.com/forkbox/forkbox/internal/wire"
)

// instance is the daemon's end of a running box.
type instance struct {
	fileagent.Agents
	conn    *wire.Conn
	process *linux.Process
	socket  string        // init's; removed with the box
	fresh   bool          // started by this daemon, not found running
	group   *cgroup.Group // nil where the host has none for us
	done    chan struct{}
	later   func(func()) // does something in the background
	starts  sync.RWMutex // held to start an exec; alone, by who stops everything
	still   atomic.Bool  // it is paused

	mu     sync.Mutex
	number int
	calls  map[int]chan boxinit.Reply
	exited func(string, forkbox.Exit, forkbox.Output)
	early  []boxinit.Exited // exits that came before Watch

	running map[string]bool  // execs whose end we were not told yet
	told    bool             // those are all
	init    *forkbox.Process // as it described itself

	words  *forkbox.Exit // how the kernel ended it
	device *os.File      // of a spare: fetched ahead

	enclosure enclosure
	looks     looks
	callers   callers
	asks      sync.Mutex
	sockets   *linux.Sockets // asks about the box's; nil before the first question
}

var _ forkbox.Instance = (*instance)(nil)

func newInstance(conn *wire.Conn, process *linux.Process, socket string, group *cgroup.Group, policy forkbox.Policy, fresh bool, later func(func())) *instance {
	i := &instance{conn: conn, process: process, socket: socket, group: group, fresh: fresh, done: make(chan struct{}), calls: map[int]chan boxinit.Reply{}, later: later, running: map[string]bool{}}
	i.enclosure = enclosure{group: group, fresh: fresh, done: i.done, runs: i.isRunning,
		limits: policy.Limits(), ownLimits: map[string]forkbox.Limits{}, subs: map[string]*cgroup.Sub{}}
	i.Agents = newAgents(i)
	go i.listen()
	go i.await()
	return i
}

// await sees the box off: when init is gone so are its processes, mounts and
// namespaces.
func (i *instance) await() {
	_ = i.process.Wait()
	i.lastWords()
	if i.group != nil {
		i.later(i.enclosure.disband)
	}
	i.mu.Lock()
	_ = os.Remove(i.socket)
	_ = os.Remove(filepath.Join(filepath.Dir(i.socket), "frozen")) // what it names is gone
	i.mu.Unlock()
	i.conn.Close()
	close(i.done)
	i.closeNetwork()
}

func (i *instance) listen() {
	for {
		var rep boxinit.Reply
		files, err := i.conn.Recv(&rep)
		if err != nil {
			return // the box has ended, or a newer daemon has taken over
		}
		rep.Files = files
		if rep.Exited != nil {
			wire.CloseAll(files...)
			go i.deliver(*rep.Exited)
			continue
		}
		i.mu.Lock()
		call := i.calls[rep.Number]
		delete(i.calls, rep.Number)
		i.mu.Unlock()
		if call == nil {
			wire.CloseAll(files...)
			continue
		}
		call <- rep
	}
}

func (i *instance) deliver(e boxinit.Exited) {
	i.mu.Lock()
	handler := i.exited
	if handler == nil {
		i.early = append(i.early, e)
	}
	i.mu.Unlock()
	if handler != nil {
		i.enclosure.judge(e.ID, &e.Exit)
		i.ran(e.ID)
		handler(e.ID, e.Exit, e.Output)
		i.enclosure.leaveSoon(e.ID)
		_ = i.conn.Send(boxinit.Request{Verb: boxinit.DoAck, ID: e.ID})
		i.enclosure.readyNext(e.ID)
	}
}

func (i *instance) call(ctx context.Context, req boxinit.Request, files ...*os.File) (boxinit.Reply, error) {
	answer := make(chan boxinit.Reply, 1)
	i.mu.Lock()
	i.number++
	req.Number = i.number
	i.calls[req.Number] = answer
	i.mu.Unlock()
	if err := i.conn.Send(req, files...); err != nil {
		return boxinit.Reply{}, gone(req.Verb, err)
	}
	select {
	case rep := <-answer:
		if !req.Fetches { // init has no business sending any
			wire.CloseAll(rep.Files...)
			rep.Files = nil
		}
		if rep.Error != nil {
			return rep, rep.Error
		}
		return rep, nil
	case <-i.done:
		return boxinit.Reply{}, gone(req.Verb, errEnded)
	case <-ctx.Done():
		i.forget(req.Number, answer)
		return boxinit.Reply{}, ctx.Err()
	}
}

// forget gives up waiting for an answer, and closes what came with one.
func (i *instance) forget(number int, answer chan boxinit.Reply) {
	i.mu.Lock()
	delete(i.calls, number)
	i.mu.Unlock()
	select {
	case rep := <-answer:
		wire.CloseAll(rep.Files...)
	default:
	}
}

func gone(v boxinit.Verb, err error) error {
	return forkbox.Errorf(forkbox.Busy, string(v)+" in the box", "%w", err)
}

var errEnded = errors.New("the box has ended")

// unlessEnded is an error, or that the box has ended: then that is why.
func unlessEnded(i *instance, v boxinit.Verb, err error) error {
	if i.process.Ended() {
		return gone(v, errEnded)
	}
	return err
}

func (i *instance) Exec(ctx context.Context, id string, spec forkbox.ExecSpec, owner forkbox.Owner, stdio forkbox.Stdio, log *os.File, logCap int64) error {
	defer stdio.Close()
	defer wire.CloseAll(log)
	i.starts.RLock()
	defer i.starts.RUnlock()
	if i.still.Load() {
		return forkbox.Errorf(forkbox.Busy, "run "+boxinit.CommandName(spec.Argv), "the box is paused")
	}
	args := &boxinit.ExecArgs{ExecSpec: spec, Owner: owner, LogCap: logCap, Stream: stdio.Stream}
	var files []*os.File
	for n, f := range []*os.File{stdio.In, stdio.Out, stdio.Err, log} {
		if f != nil {
			args.Have[n] = true
			files = append(files, f)
		}
	}
	for number, f := range stdio.Extra {
		args.Extra = append(args.Extra, number)
		files = append(files, f)
	}
	entry, err := i.enclosure.enter(id, spec.Limits, args)
	if err != nil {
		return unlessEnded(i, boxinit.DoExec, err)
	}
	if entry != nil {
		defer entry.Close()
		files = append(files, entrance(entry)...)
	}
	i.enclosure.remember(id, spec.Limits)
	i.runs(id)
	rep, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoExec, ID: id, Exec: args}, files...)
	if err != nil {
		i.enclosure.leave(id)
	}
	if rep.Error != nil { // else who has lost patience does not know
		i.ran(id)
	}
	return err
}

func (i *instance) Watch(handler func(string, forkbox.Exit, forkbox.Output)) ([]string, error) {
	i.mu.Lock()
	i.exited = handler
	early := i.early
	i.early = nil
	i.mu.Unlock()
	for _, e := range early {
		i.deliver(e)
	}
	if i.fresh {
		i.knowsAll()
		return nil, nil // nothing can have run or ended in it yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit) // whatever root in the box did to init
	defer cancel()
	rep, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoHello})
	if ctx.Err() != nil {
		err = gone(boxinit.DoHello, errors.New("its init does not answer"))
	}
	if err == nil {
		i.runs(rep.Running...)
		i.knowsAll()
	}
	for _, e := range rep.Ended {
		i.deliver(e)
	}
	return rep.Running, err
}

func (i *instance) Signal(ctx context.Context, id string, signal int) error {
	_, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoSignal, ID: id, Signal: signal})
	return err
}

func (i *instance) Kill(ctx context.Context, id string, grace forkbox.Grace) error {
	_, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoKill, ID: id, Grace: grace})
	return err
}

func (i *instance) Resize(ctx context.Context, id string, size forkbox.Size) error {
	_, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoResize, ID: id, Size: size})
	return err
}

func (i *instance) Suspend(ctx context.Context, id string) (bool, error) {
	rep, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoSuspend, ID: id})
	return rep.Stopped, err
}

func (i *instance) Processes(ctx context.Context) ([]forkbox.Process, error) {
	if init := i.alone(); init != nil {
		return []forkbox.Process{*init}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	rep, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoList})
	i.meet(rep.Processes)
	return rep.Processes, err
}

// answerLimit is how long init may take to show that it lives.
const answerLimit = 10 * time.Second

// Root opens the root directory of init. A pid is only a number: were init
// gone, it could name a process of the host by now, and its root would be
// reality. So init is asked for a sign of life afterwards. Who answers is in
// the box, and no process in there outlives init.
func (i *instance) Root() (*os.File, error) {
	const op = "open the box's root"
	name := fmt.Sprintf("/proc/%d/root", i.process.PID)
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	root := os.NewFile(uintptr(fd), name)
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	if _, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoAck}); err != nil {
		root.Close()
		return nil, forkbox.Errorf(forkbox.Busy, op, "%w", err)
	}
	return root, nil
}

func (i *instance) Stop(ctx context.Context, grace forkbox.Grace) error {
	// Who stands still hears no TERM and, in a group of version 1, no KILL.
	// One that has just ended has no group any more: none at all, or none to write to.
	if err := i.Resume(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
		return err
	}
	patience := time.Duration(0)
	if grace > 0 && i.alone() == nil { // else no process needs the grace
		asked, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := i.call(asked, boxinit.Request{Verb: boxinit.DoStop, Grace: grace}); err == nil {
			patience = grace + time.Second
		}
		cancel()
	}
	select {
	case <-i.done:
		return nil
	case <-time.After(patience):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := i.process.Kill(unix.SIGKILL); err != nil {
		return forkbox.Wrap("stop the box", err)
	}
	select {
	case <-i.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Abandon kills everything in the box and does not wait until it is gone.
func (i *instance) Abandon() error {
	_ = i.Resume(context.Background())
	return forkbox.Wrap("stop the box", i.process.Kill(unix.SIGKILL))
}

func (i *instance) Done() <-chan struct{} { return i.done }
