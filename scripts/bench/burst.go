package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	caseBurst      = "100 boxes created at once, with a first exec (total)"
	caseBurstBwrap = "100 bwrap at once (total)"
	caseEight      = "8 boxes created at once, with a first exec (total)"
	caseEightBare  = "8 × true at once (total)"
	caseCPU        = "processor time of a box's whole life, 8 at once"
)

// eight is how many approaches a race typically has.
const eight = 8

// eightCost is the most that a race of eight may cost over the bare commands,
// in milliseconds.
const eightCost = 15

// between is what passes between two races: the next spares are made.
const between = 400 * time.Millisecond

// burst starts a hundred at once, and a hundred bubblewraps the same way. Eight
// at once come first, as a race would have them.
func burst(ctx context.Context, d *daemon, r *report, rounds int) error {
	if err := races(ctx, d, r, max(5, rounds/4)); err != nil {
		return err
	}
	cases := []*measured{d.together(ctx, caseBurst, 100)}
	if _, err := exec.LookPath("bwrap"); err == nil {
		cases = append(cases, &measured{name: caseBurstBwrap, do: func() error {
			return atOnce(100, command("bwrap", bwrapArgs...))
		}})
	}
	return add(r, 5, cases)
}

// races makes eight boxes at once, again and again.
func races(ctx context.Context, d *daemon, r *report, rounds int) error {
	boxes := d.together(ctx, caseEight, eight)
	bare := &measured{name: caseEightBare, do: func() error { return atOnce(eight, command("true")) }}
	boxes.quiet = between
	if err := interleave(2, []*measured{boxes, bare}); err != nil { // warm up
		return err
	}
	boxes.times, bare.times = nil, nil
	before, err := d.processorTime()
	if err != nil {
		return err
	}
	if err := add(r, rounds, []*measured{bare, boxes}); err != nil {
		return err
	}
	spent, err := d.processorTime()
	if err != nil {
		return err
	}
	each := ms(spent-before) / float64(rounds*eight)
	r.Rows = append(r.Rows, row{Name: caseCPU, Count: rounds * eight, Median: each, P95: each, Note: "mean; with its removal and its spare"})
	return nil
}

// together makes n boxes at once with an exec in each, and waits for all. That
// they are removed is not measured.
func (d *daemon) together(ctx context.Context, name string, n int) *measured {
	boxes := make(chan string, n)
	return &measured{name: name, do: func() error {
		return atOnce(n, func() error {
			id, err := d.first(ctx)
			boxes <- id
			return err
		})
	}, after: func() error {
		return atOnce(n, func() error { return d.Remove(ctx, <-boxes, true) })
	}}
}

func atOnce(n int, do func() error) error {
	errs := make(chan error, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { errs <- do() })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// processorTime is what the daemon used so far, and the boxes of it that have
// ended with everything that ran in them.
func (d *daemon) processorTime() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, which is in parentheses, may have anything in it.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var sum time.Duration
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// judgeBurst compares with what the project wants of many at once.
func (r *report) judgeBurst() {
	if r.median(caseEight) > 0 {
		r.want("8 boxes at once, over 8 × true", eightCost, r.median(caseEight)-r.median(caseEightBare), "ms")
	}
	if r.median(caseBurstBwrap) > 0 {
		r.want("100 at once / 100 bwrap at once", 3, r.median(caseBurst)/r.median(caseBurstBwrap), "×")
	}
}
