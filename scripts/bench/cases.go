package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/forkbox/forkbox/client"
)

const (
	caseBare    = "fork+exec of true"
	caseBwrap   = "bwrap --ro-bind / / … true"
	caseFirst   = "API: create + first exec"
	caseCold    = "API: create + first exec, no spare ready"
	caseLife    = "API: create + first exec + rm"
	caseExec    = "API: exec in a running box"
	caseSocket  = "API: exec in a running box, over a WebSocket"
	caseGet     = "API: GET a box"
	caseHTTPS   = "API: GET a box, over HTTPS on loopback"
	caseVersion = "forkbox version"
	caseRun     = "forkbox run --discard -- true"
	casePSS     = "PSS of a running box's init (MiB)"
)

// settle is what the machine gets between two cases, so that none pays for the
// clean-up of the one before.
const settle = 20 * time.Millisecond

var bwrapArgs = []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"}

type measured struct {
	name   string
	before func() error  // not timed
	quiet  time.Duration // waited before, not timed: until what came before has settled
	do     func() error
	after  func() error // not timed
	times  []time.Duration
}

// interleave runs every case once per round.
func interleave(rounds int, cases []*measured) error {
	for range rounds {
		for _, c := range cases {
			if err := c.once(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (c *measured) once() error {
	if c.before != nil {
		if err := c.before(); err != nil {
			return err
		}
	}
	time.Sleep(c.quiet)
	start := time.Now()
	err := c.do()
	c.times = append(c.times, time.Since(start))
	if err == nil && c.after != nil {
		err = c.after()
	}
	return err
}

func command(name string, args ...string) func() error {
	return func() error { return exec.Command(name, args...).Run() }
}

// short measures what a person or agent waits for every day.
func short(ctx context.Context, d *daemon, r *report, rounds int) error {
	running, err := d.create(ctx)
	if err != nil {
		return err
	}
	if _, err := d.Start(ctx, running); err != nil {
		return err
	}
	defer d.Remove(ctx, running, true)
	socket := client.New(d.Socket())
	socket.WebSocket = true
	defer socket.Close()
	near, err := listeningDaemon(ctx, d.binary)
	if err != nil {
		return err
	}
	defer near.stop()
	far, err := near.outside(ctx)
	if err != nil {
		return err
	}
	defer far.Close()
	asked, err := near.create(ctx)
	if err != nil {
		return err
	}
	var last string
	cases := []*measured{
		{name: caseBare, do: command("true")},
		{name: caseFirst, do: func() (err error) {
			last, err = d.first(ctx)
			return err
		}, after: func() error { return d.Remove(ctx, last, true) }},
		{name: caseLife, do: func() error { return d.life(ctx) }},
		{name: caseExec, do: func() error { return d.exec(ctx, running) }},
		{name: caseSocket, do: func() error { return d.execOver(ctx, socket, running) }},
		{name: caseGet, do: func() error { _, err := near.Box(ctx, asked); return err }},
		{name: caseHTTPS, do: func() error { _, err := far.Box(ctx, asked); return err }},
		{name: caseVersion, do: func() error { return d.cli("version") }},
		{name: caseRun, do: func() error { return d.cli("run", "--discard", "--", "true") }},
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		cases = append(cases, &measured{name: caseBwrap, do: command("bwrap", bwrapArgs...)})
	} else {
		r.Rows = append(r.Rows, row{Name: caseBwrap, Note: "not installed"})
	}
	if err := interleave(3, cases); err != nil { // warm up
		return err
	}
	for _, c := range cases {
		c.times, c.quiet = nil, settle
	}
	if err := interleave(rounds, cases); err != nil {
		return err
	}
	for _, c := range cases {
		r.add(c.name, c.times, "")
	}
	// The first box in a while finds no spare: what the cases above hide.
	cold := &measured{name: caseCold, quiet: 3 * time.Second, do: cases[1].do, after: cases[1].after}
	if err := interleave(7, []*measured{cold}); err != nil {
		return err
	}
	r.add(cold.name, cold.times, "")
	return nil
}

// engines measures docker and podman where one answers and has an image.
func engines(_ context.Context, _ *daemon, r *report, _ int) error {
	for _, engine := range []string{"docker", "podman"} {
		name := engine + " run --network none true"
		if exec.Command(engine, "info").Run() != nil {
			r.Rows = append(r.Rows, row{Name: name, Note: "no engine answers"})
			continue
		}
		out, _ := exec.Command(engine, "images", "-q").Output()
		image, _, _ := strings.Cut(string(out), "\n")
		if image == "" {
			r.Rows = append(r.Rows, row{Name: name, Note: "the engine has no image"})
			continue
		}
		c := &measured{name: name, do: command(engine, "run", "--rm", "--network", "none", image, "true")}
		if err := interleave(5, []*measured{c}); err != nil {
			return err
		}
		r.add(name, c.times, "image "+image)
	}
	return nil
}

// memory reads what one running box's init costs.
func memory(ctx context.Context, d *daemon, r *report, _ int) error {
	id, err := d.create(ctx)
	if err != nil {
		return err
	}
	defer d.Remove(ctx, id, true)
	time.Sleep(3 * time.Second) // a spare box that the cases before left is gone then
	before := inits()
	if _, err := d.Start(ctx, id); err != nil {
		return err
	}
	if err := d.exec(ctx, id); err != nil {
		return err
	}
	for pid := range inits() {
		if !before[pid] {
			pss, err := pssOf(pid)
			if err != nil {
				return err
			}
			r.Rows = append(r.Rows, row{Name: casePSS, Count: 1, Median: pss, P95: pss, Note: "after one exec"})
			return nil
		}
	}
	return fmt.Errorf("cannot find the box's init")
}

// inits lists the processes that are the init of a box.
func inits() map[string]bool {
	found := map[string]bool{}
	dirs, _ := os.ReadDir("/proc")
	for _, dir := range dirs {
		raw, err := os.ReadFile("/proc/" + dir.Name() + "/cmdline")
		if err == nil && strings.HasPrefix(string(raw), "forkbox-init\x00") {
			found[dir.Name()] = true
		}
	}
	return found
}

func pssOf(pid string) (float64, error) {
	raw, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(raw), "\n") {
		var kb float64
		if n, _ := fmt.Sscanf(line, "Pss: %f kB", &kb); n == 1 {
			return kb / 1024, nil
		}
	}
	return 0, fmt.Errorf("no Pss in smaps_rollup of %s", pid)
}
