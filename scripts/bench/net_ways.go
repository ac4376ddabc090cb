package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const (
	wayVeth  = "veth"
	waySlirp = "slirp4netns"
	wayPasta = "pasta"
	wayGate  = "forkbox"
)

// way is one to the server: an agent whose packets go through something.
type way struct {
	name  string
	agent *line
	// pid is of the process that relays, 0 where the kernel does.
	pid   int
	close func()
	times map[string][]time.Duration
	broke map[string]error // what it cannot do
}

// ways opens all that this machine has. Of the others the report says why not.
func (w *netWorld) ways(ctx context.Context, r *report, binary string) (open []*way, closeAll func()) {
	closeAll = func() {
		for _, way := range open {
			way.close()
		}
	}
	for _, kind := range []struct {
		name string
		open func(context.Context, string) (*way, error)
	}{{wayVeth, w.veth}, {waySlirp, w.slirp}, {wayPasta, w.pasta}, {wayGate, w.gate}} {
		way, err := kind.open(ctx, binary)
		if err == nil {
			err = way.works()
		}
		if err != nil {
			r.missing(netCase(netTouch, kind.name), err)
			continue
		}
		way.name, way.times, way.broke = kind.name, map[string][]time.Duration{}, map[string]error{}
		open = append(open, way)
	}
	return open, closeAll
}

// works waits until connections get through: tools say that they are ready
// before they are.
func (w *way) works() (err error) {
	for range 50 {
		if _, err = w.agent.ask("touch", 1); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.close()
	return err
}

// veth is the agent that stands at the host's end of the pair.
func (w *netWorld) veth(context.Context, string) (*way, error) {
	return &way{agent: w.near, close: func() {}}, nil
}

// slirp has slirp4netns give an agent's namespace a network. It ends when the
// pipe that it is given is closed, and so with us.
func (w *netWorld) slirp(ctx context.Context, _ string) (*way, error) {
	if _, err := exec.LookPath("slirp4netns"); err != nil {
		return nil, err
	}
	agent, pid, err := call(ctx, []string{"unshare", "--net", "--"}, "agent", worldAddr+":"+worldPort)
	if err != nil {
		return nil, err
	}
	hold, theirs, err := pair()
	if err != nil {
		agent.close()
		return nil, err
	}
	argv := append(within(w.host), "slirp4netns", "--configure", "--mtu=65520", "--disable-dns", "--exit-fd=3", strconv.Itoa(pid), "tap0")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		hold.Close()
		agent.close()
		return nil, err
	}
	return &way{agent: agent, pid: cmd.Process.Pid, close: func() {
		hold.Close()
		_ = cmd.Wait()
		agent.close()
	}}, nil
}

// pasta starts the agent itself, and ends with it. As nobody, which it would
// become, it may not open the TUN device on every host; and the server is at the
// gateway's address, which it would take for the host's loopback.
func (w *netWorld) pasta(ctx context.Context, _ string) (*way, error) {
	if _, err := exec.LookPath("pasta"); err != nil {
		return nil, err
	}
	prefix := append(within(w.host), "pasta", "--quiet", "--runas", "0:0", "--ipv4-only", "--config-net", "--no-map-gw",
		"-t", "none", "-u", "none", "-T", "none", "-U", "none", "--")
	agent, pid, err := call(ctx, prefix, "agent", worldAddr+":"+worldPort)
	if err != nil {
		return nil, err
	}
	return &way{agent: agent, pid: pid, close: agent.close}, nil
}

// gate is a box of a daemon that lives where the other tools do.
func (w *netWorld) gate(ctx context.Context, binary string) (*way, error) {
	d, err := startDaemon(ctx, binary, within(w.host)...)
	if err != nil {
		return nil, err
	}
	agent, err := d.agent(ctx)
	if err != nil {
		d.stop()
		return nil, err
	}
	return &way{agent: agent, pid: d.cmd.Process.Pid, close: func() {
		agent.close()
		d.stop()
	}}, nil
}

// agent starts one in a new box that may reach the server and nothing else.
func (d *daemon) agent(ctx context.Context) (*line, error) {
	box, err := d.Create(ctx, api.CreateRequest{
		Dir: "/", Env: os.Environ(), Net: string(forkbox.NetPolicy),
		NetWish: forkbox.NetWish{Preset: forkbox.PresetLocked, Rules: []string{"allow " + worldAddr + ":" + worldPort}},
	})
	if err != nil {
		return nil, err
	}
	argv, err := insideArgv([]string{"agent", worldAddr + ":" + worldPort})
	if err != nil {
		return nil, err
	}
	say, theirIn, err := pair()
	if err != nil {
		return nil, err
	}
	hear, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: "/"}}
	session, err := d.Exec(ctx, box.ID, req, forkbox.Stdio{In: theirIn, Out: theirOut, Err: theirOut})
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		say.Close()
		hear.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() { hear.Close() }) // which ends a read that still waits
	l := &line{say: say, hear: bufio.NewReader(hear), end: func() {
		_ = finish(ctx, session)
		hear.Close()
	}}
	if _, err := l.ready(); err != nil {
		l.close()
		return nil, fmt.Errorf("the agent in the box: %w", err)
	}
	return l, nil
}
