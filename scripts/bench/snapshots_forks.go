package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const (
	forks         = 100
	caseFork      = "API: 100 forks of one snapshot, each"
	caseForkExec  = "API: 100 forks of one snapshot with an exec, each"
	caseForkBytes = "disk per such fork, at rest (KiB)"
	caseForkOwn   = "disk of each before its exec (KiB)"

	caseClaim     = "API: box of a warm template + first exec"
	caseUnclaimed = "API: box of a template that is not warm + first exec"
	casePlain     = "API: create + first exec, in the same rounds, a spare ready"
	casePlainCold = "API: create + first exec, no spare ready, beside templates"
)

// manyForks makes a hundred children of one snapshot and uses each.
func manyForks(ctx context.Context, d *daemon, r *report, _ int) error {
	id, err := d.written(ctx, fewFiles)
	if err != nil {
		return err
	}
	defer d.Remove(ctx, id, true)
	if _, err := d.Snapshot(ctx, id, forkbox.SnapshotSpec{}); err != nil {
		return err
	}
	var each, withExec []time.Duration
	var made, used []float64
	for range 3 {
		f, err := d.forkMany(ctx, id)
		if err != nil {
			return err
		}
		each, withExec = append(each, f.fork/forks), append(withExec, (f.fork+f.execs)/forks)
		made, used = append(made, f.made/forks), append(used, f.used/forks)
	}
	r.add(caseFork, each, "mean of 100; n is how often")
	r.add(caseForkExec, withExec, "one after the other")
	r.addFigures(caseForkOwn, made)
	r.addFigures(caseForkBytes, used)
	return nil
}

type forkFigures struct {
	fork, execs time.Duration
	made, used  float64 // KiB that the children take: all together, before and after the execs
}

// forkMany makes the children, uses each and removes them.
func (d *daemon) forkMany(ctx context.Context, id string) (f forkFigures, err error) {
	before, err := d.stored()
	if err != nil {
		return f, err
	}
	start := time.Now()
	done, err := d.Fork(ctx, id+"@", forkbox.ForkSpec{Count: forks})
	f.fork = time.Since(start)
	if err != nil {
		return f, err
	}
	defer func() {
		for _, c := range done.Children {
			if c.Box != nil {
				_ = d.Remove(ctx, c.Box.ID, true)
			}
		}
	}()
	made, err := d.stored()
	if err != nil {
		return f, err
	}
	start = time.Now()
	for _, c := range done.Children {
		if c.Error != nil {
			return f, c.Error
		}
		if err := d.exec(ctx, c.Box.ID); err != nil {
			return f, err
		}
	}
	f.execs = time.Since(start)
	d.rest()
	used, err := d.stored()
	f.made, f.used = made-before, used-before
	return f, err
}

// stored is what boxes and layers take on the disk in KiB.
func (d *daemon) stored() (kib float64, err error) {
	for _, dir := range []string{"boxes", "layers"} {
		// It fails and tells all the same: only root may look into
		// overlayfs's own directories, which are empty.
		out, failed := exec.Command("du", "-sk", filepath.Join(d.home, dir)).Output()
		var n float64
		if _, err := fmt.Sscan(string(out), &n); err != nil {
			return 0, fmt.Errorf("du: %w", errors.Join(err, failed))
		}
		kib += n
	}
	return kib, nil
}

// addFigures adds a row of what is not a time.
func (r *report) addFigures(name string, figures []float64) {
	slices.Sort(figures)
	n := len(figures)
	r.Rows = append(r.Rows, row{Name: name, Count: n, Median: figures[n/2], P95: figures[n-1]})
}

// written makes a box at rest that wrote so many files.
func (d *daemon) written(ctx context.Context, files int) (string, error) {
	id, err := d.create(ctx)
	if err != nil {
		return "", err
	}
	if _, err := d.inside(ctx, id, "fill", pileDir, fmt.Sprint(files), "x\n"); err != nil {
		return "", err
	}
	_, err = d.Stop(ctx, id, new(time.Duration))
	return id, err
}

// claims compares taking over a box of a template that is kept ready with
// making one.
func claims(ctx context.Context, d *daemon, r *report, rounds int) error {
	// Of a box each: what is ready for one template serves any box that is
	// built alike.
	for name, warm := range map[string]int{"warm": 4, "cold": 0} {
		id, err := d.written(ctx, fewFiles)
		if err != nil {
			return err
		}
		defer d.Remove(ctx, id, true)
		if _, err := d.CreateTemplate(ctx, forkbox.TemplateSpec{Name: name, From: id, Warm: warm}); err != nil {
			return err
		}
		defer d.RemoveTemplate(ctx, name)
	}
	const quiet = 5 * settle // the next is ready by then
	warm := d.firstCase(ctx, caseClaim, quiet, api.CreateRequest{Template: "warm"})
	cold := d.firstCase(ctx, caseUnclaimed, quiet, api.CreateRequest{Template: "cold"})
	plain := d.firstCase(ctx, casePlain, quiet, api.CreateRequest{Dir: "/", Env: os.Environ()})
	cases := []*measured{warm, cold, plain}
	if err := interleave(2, cases); err != nil {
		return err
	}
	for _, c := range cases {
		c.times = nil
	}
	if err := add(r, max(5, rounds/4), cases); err != nil {
		return err
	}
	// When boxes do not come quickly no spare is kept for the next.
	spareless := d.firstCase(ctx, casePlainCold, 2500*time.Millisecond, api.CreateRequest{Dir: "/", Env: os.Environ()})
	return add(r, 5, []*measured{spareless})
}

// firstCase makes a box, runs a first command in it and removes it.
func (d *daemon) firstCase(ctx context.Context, name string, quiet time.Duration, req api.CreateRequest) *measured {
	var last string
	return &measured{name: name, quiet: quiet, do: func() (err error) {
		last, err = d.firstOf(ctx, req)
		return err
	}, after: func() error { return d.Remove(ctx, last, true) }}
}
