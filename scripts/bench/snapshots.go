package main

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"time"
)

const (
	caseBwrapBeside = "bwrap, in the same rounds"
	fewFiles        = 10
	manyFiles       = 100000
)

// idleCase names what is done to a box in which nothing runs: one at rest, or
// one whose init is still there because something just ran.
func idleCase(verb string, files int, awake bool) string {
	state := "at rest"
	if awake {
		state = "just after an exec"
	}
	return fmt.Sprintf("API: %s, %d changed files, %s", verb, files, state)
}

// manyOf is how many files the large box has changed.
func manyOf() int {
	many := manyFiles
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "entries" {
			many = max(*entries, fewFiles+1)
		}
	})
	return many
}

// snapshotsLimit is when what is left is not begun any more: on a machine that
// does other things as well some of it takes long.
const snapshotsLimit = 190 * time.Second

// snapshots measures saving, going back and forking, and what that costs those
// who use a box afterwards.
func snapshots(ctx context.Context, d *daemon, r *report, rounds int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*snapshotsLimit) // nothing hangs for ever
	defer cancel()
	end := time.Now().Add(snapshotsLimit)
	for _, part := range []struct {
		name    string
		measure func(context.Context, *daemon, *report, int) error
	}{{"idle boxes", idle}, {"100 forks", manyForks}, {"templates", claims}, {"reads", stacks}, {"pauses", pauses}} {
		if time.Now().After(end) {
			r.missing(part.name, fmt.Errorf("after %v it is not begun", snapshotsLimit))
			continue
		}
		if err := part.measure(ctx, d, r, rounds); err != nil {
			return err
		}
	}
	return copiesOfMany(ctx, r, end)
}

// idle measures the verbs beside bubblewrap and what others have, all with few
// files and with many.
func idle(ctx context.Context, d *daemon, r *report, rounds int) error {
	var cases []*measured
	for _, files := range []int{fewFiles, manyOf()} {
		p, err := newPile(ctx, d, files)
		if err != nil {
			return err
		}
		cases = append(cases, p.cases(ctx)...)
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		cases = append(cases, &measured{name: caseBwrapBeside, quiet: settle, do: command("bwrap", bwrapArgs...)})
	}
	others, done := beside(ctx, r)
	defer done()
	cases = append(cases, others...)
	_ = command("sync")() // no case pays for what making the files left
	if err := interleave(2, cases); err != nil {
		return err
	}
	for _, c := range cases {
		c.times = nil
	}
	if err := add(r, max(5, rounds/3), cases); err != nil {
		return err
	}
	r.relate(cases)
	return nil
}

// relate fills in the ratios to the bubblewrap of the same rounds.
func (r *report) relate(cases []*measured) {
	bwrap := r.median(caseBwrapBeside)
	for i := range r.Rows {
		for _, c := range cases {
			if r.Rows[i].Name == c.name && bwrap > 0 {
				r.Rows[i].Ratio = r.Rows[i].Median / bwrap
			}
		}
	}
}

// judgeSnapshots compares with what the project wants. Of the idle boxes those
// at rest are judged: one whose init is still there has to be stopped first,
// which is not what saving it costs.
func (r *report) judgeSnapshots() {
	many := manyOf()
	for _, verb := range []string{verbSnapshot, verbRollback, verbFork} {
		few, most := r.median(idleCase(verb, fewFiles, false)), r.median(idleCase(verb, many, false))
		bwrap := r.median(caseBwrapBeside)
		r.want(fmt.Sprintf("%s, %d changed files, at rest / bwrap", verb, fewFiles), 0.5, few/bwrap, "×")
		r.want(fmt.Sprintf("%s, %d changed files, at rest / bwrap", verb, many), 0.5, most/bwrap, "×")
		r.want(fmt.Sprintf("%s, at rest, %d / %d changed files", verb, many, fewFiles), 1.5, most/few, "×")
	}
	for _, when := range []string{firstRead, againRead} {
		name := fmt.Sprintf("reads after %d snapshots, merged / after 1, %s", stackDepth, when)
		r.want(name, 1.3, r.median(readCase(stackDepth, when))/r.median(readCase(1, when)), "×")
	}
}
