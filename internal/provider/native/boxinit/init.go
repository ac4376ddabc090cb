//go:build linux

package boxinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles/agent"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/wire"
)

// InitName is argv[0] of a box's pid 1. It is this same binary.
const InitName = "forkbox-init"

// lonely is how long an init without a daemon and without anything to look
// after stays: long enough for a daemon to restart, not for ever.
const lonely = 30 * time.Second

// pid1 is the init of a box: it reaps, starts execs, relays and keeps their
// output, and outlives the daemon.
type pid1 struct {
	config  Config
	spawned chan struct{} // has a value when a child was started
	jobs    chan func()   // for who is idle
	score   score
	program *os.File // this one

	mu     sync.Mutex
	daemon *wire.Conn        // nil while no daemon is connected
	execs  map[string]*child // running
	byPID  map[int]*child
	agents map[int]bool      // by pid: what reads and writes files for the daemon
	ended  map[string]Exited // not yet acknowledged
	stamps uint64            // given so far
	device *os.File          // the way to the gate
}

// Init is the whole life of a box's pid 1, or of the agent that this one starts. It
// returns with the exit code; pid 1 only when it fails.
func Init() int {
	if len(os.Args) == 2 && os.Args[1] == agentArg {
		return agent.Serve()
	}
	fmt.Fprintln(os.Stderr, "forkbox-init:", runInit(os.Args))
	return 1
}

func runInit(args []string) error {
	var config Config
	if len(args) < 2 || os.Getpid() != 1 {
		return errors.New("this is the first process of a box; it cannot be started by hand")
	}
	if err := json.Unmarshal([]byte(args[1]), &config); err != nil {
		return err
	}
	file := os.NewFile(uintptr(config.Listen), "listener")
	// Listening again makes this process, not the daemon that bound the
	// socket, the peer that the kernel names to a daemon that connects.
	if err := unix.Listen(config.Listen, 16); err != nil {
		return err
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return err
	}
	file.Close()
	p := &pid1{config: config, spawned: make(chan struct{}, 1), jobs: make(chan func()), execs: map[string]*child{}, byPID: map[int]*child{}, agents: map[int]bool{}, ended: map[string]Exited{}}
	if err := p.settle(); err != nil {
		return err
	}
	go p.reap()
	go p.leaveWhenLonely()
	return p.serve(listener.(*net.UnixListener))
}

// settle does what has to be done inside the namespaces, then gives up what
// is not needed any more.
func (p *pid1) settle() error {
	p.score.open()
	p.openProgram()
	if p.config.Net != forkbox.NetHost {
		if err := linux.LoopbackUp(); err != nil {
			return fmt.Errorf("bring up loopback: %w", err)
		}
	}
	if p.config.Net == forkbox.NetPolicy {
		if err := p.makeDevice(); err != nil {
			return fmt.Errorf("make the network device: %w", err)
		}
		if err := p.letIn(); err != nil {
			return err
		}
	}
	if p.config.Rootless {
		if err := linux.KeepToSelf(); err != nil {
			return fmt.Errorf("keep capabilities from execs: %w", err)
		}
	}
	return linux.Seccomp()
}

// serve speaks to one daemon at a time; a new one takes over from the old.
func (p *pid1) serve(listener *net.UnixListener) error {
	for {
		c, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		conn := wire.New(c)
		p.mu.Lock()
		if p.daemon != nil {
			p.daemon.Close()
		}
		p.daemon = conn
		p.mu.Unlock()
		go p.converse(conn)
	}
}

func (p *pid1) converse(conn *wire.Conn) {
	for {
		var req Request
		files, err := conn.Recv(&req)
		if err != nil {
			break
		}
		if req.isNotice() {
			p.answer(req, files) // now: a claim comes before what comes next
		} else {
			p.work(func() { p.reply(conn, req, files) })
		}
	}
	conn.Close()
	p.mu.Lock()
	if p.daemon == conn {
		p.daemon = nil
	}
	unwanted := p.config.Spare
	p.mu.Unlock()
	if unwanted {
		os.Exit(0) // a spare is of use only to the daemon that made it
	}
}

// work does something in the background, on a goroutine that has done something
// before if one is idle: a fresh one would have to grow its stack again.
func (p *pid1) work(do func()) {
	select {
	case p.jobs <- do:
	default:
		go p.worker(do)
	}
}

// worker holds on to nothing of what it did while it waits for more.
func (p *pid1) worker(do func()) {
	for {
		do()
		do = <-p.jobs
	}
}

func (p *pid1) reply(conn *wire.Conn, req Request, files []*os.File) {
	rep := p.answer(req, files)
	_ = conn.Send(rep, rep.Files...)
	wire.CloseAll(slices.DeleteFunc(rep.Files, func(f *os.File) bool { return f == p.device })...)
}

func (p *pid1) answer(req Request, files []*os.File) Reply {
	rep := Reply{Number: req.Number}
	var err error
	switch req.Verb {
	case DoHello:
		rep.Running, rep.Ended = p.hello()
	case DoExec:
		err = p.start(req.ID, req.Exec, files)
	case DoSignal:
		err = p.with(req.ID, func(c *child) error { return c.signal(syscall.Signal(req.Signal)) })
	case DoKill:
		err = p.with(req.ID, func(c *child) error { return c.kill(req.Grace, forkbox.CauseStopped) })
	case DoResize:
		err = p.with(req.ID, func(c *child) error { return c.resize(req.Size) })
	case DoSuspend:
		err = p.with(req.ID, func(c *child) error { rep.Stopped = c.suspend(); return nil })
	case DoList:
		rep.Processes, err = p.processes()
	case DoStop:
		go p.stop(req.Grace)
	case DoClaim:
		p.claimed(req.ID, req.Hosts)
	case DoAttach:
		if err = p.with(req.ID, func(c *child) error { return c.attach(req, files) }); forkbox.CodeOf(err) == forkbox.NotFound {
			wire.CloseAll(files...)
		}
	case DoStream:
		rep.At, err = p.stream(req, files)
	case DoDevice:
		if p.device == nil {
			err = forkbox.Errorf(forkbox.Unsupported, "open the box's network", "it has none that ends at a gate")
			break
		}
		rep.Files = []*os.File{p.device}
	case DoDial:
		err = p.dial(req.Port, files)
	case DoFiles:
		err = p.startAgent(req.Agent, files)
	case DoRefresh:
		err = refreshHere()
	case DoWhose:
		rep.Exec = p.whose(req.PID)
	case DoAsk:
		rep.Files, err = one(linux.SocketsHere())
	case DoAck:
		p.mu.Lock()
		delete(p.ended, req.ID)
		p.mu.Unlock()
	default:
		err = forkbox.Errorf(forkbox.Invalid, "talk to the box", "its init does not know %q", req.Verb)
	}
	if err != nil && !errors.As(forkbox.Wrap(string(req.Verb), err), &rep.Error) {
		rep.Error = forkbox.Errorf(forkbox.Internal, string(req.Verb), "%w", err)
	}
	return rep
}

// whose is the exec that a process was started by.
func (p *pid1) whose(pid int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range p.execs {
		if pid == c.pid || linux.Stamped(pid, c.stamp) {
			return id
		}
	}
	return ""
}

// one is a file to send, if there is one.
func one(f *os.File, err error) ([]*os.File, error) {
	if err != nil {
		return nil, err
	}
	return []*os.File{f}, nil
}

func (p *pid1) hello() (running []string, ended []Exited) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.execs {
		running = append(running, id)
	}
	return running, slices.Collect(maps.Values(p.ended))
}

func (p *pid1) with(id string, do func(*child) error) error {
	p.mu.Lock()
	c := p.execs[id]
	p.mu.Unlock()
	if c == nil {
		return forkbox.Errorf(forkbox.NotFound, "reach exec "+id, "it does not run")
	}
	return do(c)
}

// finish records the end of an exec and tells the daemon, now or when it is back.
func (p *pid1) finish(c *child, e Exited) {
	p.mu.Lock()
	delete(p.execs, c.id)
	p.ended[c.id] = e
	p.mu.Unlock()
	p.tell(e)
}

func (p *pid1) tell(e Exited) {
	p.mu.Lock()
	daemon := p.daemon
	p.mu.Unlock()
	if daemon != nil {
		_ = daemon.Send(Reply{Exited: &e})
	}
}

// reap collects every process that ends in the box: execs, and orphans of
// whatever they started.
//
// A thread that waits in the kernel hears of it sooner than a handler of
// SIGCHLD would. It has something to wait for as long as init has children;
// orphans can only come while it has some.
func (p *pid1) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			<-p.spawned
		case err == nil:
			p.reaped(pid, status)
		}
	}
}

// reaped takes the lock, so that a child that ends at once is already known.
func (p *pid1) reaped(pid int, status syscall.WaitStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, pid)
	if c := p.byPID[pid]; c != nil {
		delete(p.byPID, pid)
		c.status <- status
	}
}

// leaveWhenLonely ends the box when its daemon is gone and nothing runs, so that
// a crashed daemon leaves nothing behind.
func (p *pid1) leaveWhenLonely() {
	alone := time.Now()
	for range time.Tick(5 * time.Second) {
		p.mu.Lock()
		if p.config.Spare && p.daemon == nil {
			os.Exit(0)
		}
		needed := p.daemon != nil || len(p.execs) > 0
		p.mu.Unlock()
		// Without a /proc (its files were deleted under the box) there is
		// nothing worth staying for either.
		if list, err := p.processes(); needed || err == nil && len(list) > 1 {
			alone = time.Now()
		}
		if time.Since(alone) > lonely {
			os.Exit(0)
		}
	}
}

// stop asks all processes to end, waits, and leaves; the kernel kills the rest
// when pid 1 goes. Execs that had to be killed say so before.
func (p *pid1) stop(grace forkbox.Grace) {
	_ = syscall.Kill(-1, syscall.SIGTERM)
	_ = syscall.Kill(-1, syscall.SIGCONT) // the stopped ones cannot hear it otherwise
	p.mu.Lock()
	for _, c := range p.execs {
		if c.reader() != nil { // one that is lost might come back long after the grace
			c.hurry()
		}
	}
	p.mu.Unlock()
	if p.empty(grace, func() bool { list, err := p.processes(); return err == nil && len(list) <= 1 }) {
		os.Exit(0)
	}
	p.mu.Lock()
	for _, c := range p.execs {
		c.force()
	}
	p.mu.Unlock()
	_ = syscall.Kill(-1, syscall.SIGKILL)
	p.empty(lastReports, func() bool { return true })
	os.Exit(0)
}

// lastReports is how long init waits for the exits of what it killed.
const lastReports = 500 * time.Millisecond

// empty waits until no exec runs and also is true.
func (p *pid1) empty(patience time.Duration, also func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		running := len(p.execs)
		p.mu.Unlock()
		if running == 0 && also() {
			return true
		}
	}
	return false
}

// force notes that the exec is being killed with its box.
func (c *child) force() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hurry()
	if c.cause == "" {
		c.cause = forkbox.CauseStopped
	}
	c.forced = true
}
