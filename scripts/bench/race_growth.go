package main

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
)

func raceGrown(files int) string {
	return fmt.Sprintf("client.Race: 8 × true, %d files in its setup's layer (total)", files)
}

// raceGrowth forks approaches from setups that wrote ever more files. Each is
// one snapshot, which many races begin at: to write the files takes longer
// than all of them.
func raceGrowth(ctx context.Context, d *daemon, r *report, rounds int) error {
	var cases []*measured
	for _, n := range []int{10, 10000, 100000} {
		id, err := d.written(ctx, n)
		if err != nil {
			return err
		}
		defer d.Remove(ctx, id, true)
		if _, err := d.Snapshot(ctx, id, forkbox.SnapshotSpec{Name: "setup"}); err != nil {
			return err
		}
		spec := raceSpec(eight, nothing())
		spec.Start = forkbox.RaceStart{From: id + "@setup"}
		c := d.raced(ctx, raceGrown(n), spec)
		c.quiet = between
		cases = append(cases, c)
	}
	if err := interleave(1, cases); err != nil { // warm up
		return err
	}
	for _, c := range cases {
		c.times = nil
	}
	return add(r, max(5, rounds/8), cases)
}

// judgeRace compares with what the project wants of races.
func (r *report) judgeRace() {
	if r.median(caseRace) > 0 {
		r.want("race of 8 × true, over 8 × true bare", eightCost, r.median(caseRace)-r.median(caseRaceBare), "ms")
	}
	if r.median(caseBareWork) > 0 {
		r.want("race of 100 CPU-bound tasks / bare", workCost, r.median(caseRaceWork)/r.median(caseBareWork), "×")
	}
	r.want("race, 100 000 files in the setup / 10", 1.5, r.median(raceGrown(100000))/r.median(raceGrown(10)), "×")
}
