package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	caseRace     = "client.Race: 8 × true, judged (total)"
	caseRaceBare = "8 × true at once, beside races (total)"
	caseRaceCold = "client.Race: 8 × true, the daemon's first (total)"
	caseRaceWork = "client.Race: 100 × a task of some 250 ms (total)"
	caseBareWork = "100 × the same task, bare (total)"
)

// workCost is by how much a race of many tasks may take longer than the tasks.
const workCost = 1.1

// raceBench measures what it costs to race commands instead of running them.
func raceBench(ctx context.Context, d *daemon, r *report, rounds int) error {
	for _, measure := range []func(context.Context, *daemon, *report, int) error{raceFirsts, raceEights, raceGrowth, raceWork} {
		if err := measure(ctx, d, r, rounds); err != nil {
			return err
		}
	}
	return nil
}

// nothing is a command that does nothing.
func nothing() forkbox.Command { return forkbox.Command{Argv: forkbox.Strings{"true"}} }

// raceSpec is a race of n times the same command.
func raceSpec(n int, c forkbox.Command) forkbox.RaceSpec {
	spec := forkbox.RaceSpec{Start: forkbox.RaceStart{Dir: "/", Env: os.Environ()}}
	for i := range n {
		spec.Approaches = append(spec.Approaches, forkbox.Approach{Name: fmt.Sprint("a", i), Steps: []forkbox.Command{c}})
	}
	return spec
}

// raced runs a race to its end, in which every approach has to pass. That it is
// removed is not measured.
func (d *daemon) raced(ctx context.Context, name string, spec forkbox.RaceSpec) *measured {
	var last forkbox.Race
	return &measured{name: name, do: func() (err error) {
		last, err = d.Race(ctx, spec, func(forkbox.RaceEvent) error { return nil })
		return err
	}, after: func() error {
		for _, e := range last.Entries {
			if e.Outcome != forkbox.OutcomePassed {
				return fmt.Errorf("%s of race %s is %s: %s", e.Name, last.Name, e.Outcome, e.Why)
			}
		}
		return d.RemoveRace(ctx, last.ID, true)
	}}
}

// raceEights is a race that does nothing beside what it does: all of its time
// is ours.
func raceEights(ctx context.Context, d *daemon, r *report, rounds int) error {
	race := d.raced(ctx, caseRace, raceSpec(eight, nothing()))
	bare := &measured{name: caseRaceBare, do: func() error { return atOnce(eight, command("true")) }}
	race.quiet = between
	if err := interleave(2, []*measured{race, bare}); err != nil { // warm up
		return err
	}
	race.times, bare.times = nil, nil
	return add(r, max(5, rounds/4), []*measured{bare, race})
}

// raceFirsts is the first race of a daemon: nothing is ready for it.
func raceFirsts(ctx context.Context, d *daemon, r *report, _ int) error {
	var times []time.Duration
	for range 5 {
		fresh, err := startDaemon(ctx, d.binary)
		if err != nil {
			return err
		}
		race := fresh.raced(ctx, caseRaceCold, raceSpec(eight, nothing()))
		err = race.once()
		fresh.stop()
		if err != nil {
			return err
		}
		times = append(times, race.times...)
	}
	r.add(caseRaceCold, times, "of a new daemon each")
	return nil
}

// raceWork has a hundred approaches keep every processor busy, as many at a
// time as there are processors, and the same tasks without forkbox.
func raceWork(ctx context.Context, d *daemon, r *report, _ int) error {
	const tasks = 100
	line, err := busyLine(ctx)
	if err != nil {
		return err
	}
	spec := raceSpec(tasks, forkbox.Command{Run: line})
	spec.Parallel = runtime.NumCPU()
	race := d.raced(ctx, caseRaceWork, spec)
	race.quiet = between
	bare := &measured{name: caseBareWork, do: func() error {
		return inTurn(tasks, spec.Parallel, command("sh", "-c", line))
	}}
	return add(r, 3, []*measured{bare, race})
}

// busyLine is a command that computes for some 250 ms on this machine.
func busyLine(ctx context.Context) (string, error) {
	const want, tried = 250 * time.Millisecond, 2_000_000
	line := func(n int) string { return fmt.Sprintf("awk 'BEGIN { for (i = 0; i < %d; i++) s += i * i }'", n) }
	best := time.Hour
	for range 3 {
		start := time.Now()
		if err := quietly(exec.CommandContext(ctx, "sh", "-c", line(tried))); err != nil {
			return "", err
		}
		best = min(best, time.Since(start))
	}
	return line(int(float64(tried) * float64(want) / float64(best))), nil
}

// inTurn does something n times, so many at a time.
func inTurn(n, parallel int, do func() error) error {
	turns := make(chan struct{}, parallel)
	var all sync.WaitGroup
	errs := make(chan error, n)
	for range n {
		turns <- struct{}{}
		all.Go(func() {
			errs <- do()
			<-turns
		})
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
