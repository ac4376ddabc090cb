package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

const (
	caseBareLimits   = "fork+exec of true, beside limits"
	caseBwrapLimits  = "bwrap, beside limits"
	caseFirstFree    = "API: create + first exec, no limits"
	caseFirstLimited = "API: create + first exec, with cpus, memory and pids"
	caseExecFree     = "API: exec in a running box, no limits"
	caseExecOfBox    = "API: exec in a running box that is limited"
	caseExecLimited  = "API: exec in a running box, with limits of its own"
)

// limitsCost is the most that limits may add to a median, in milliseconds.
const limitsCost = 1

// few are limits as a user would set them for an agent.
var few = forkbox.Limits{forkbox.CPUs: 1500, forkbox.Memory: 1 << 30, forkbox.Pids: 512}

// less are those of one exec in such a box.
var less = forkbox.Limits{forkbox.CPUs: 1000, forkbox.Memory: 512 << 20, forkbox.Pids: 256}

// limits measures what it costs to have them: the same steps with and without,
// in the same rounds.
func limits(ctx context.Context, d *daemon, r *report, rounds int) error {
	free, err := d.running(ctx, nil)
	if err != nil {
		return err
	}
	defer d.Remove(ctx, free, true)
	limited, err := d.running(ctx, few)
	if forkbox.CodeOf(err) == forkbox.Unsupported {
		r.missing(caseFirstLimited, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Remove(ctx, limited, true)
	cases := []*measured{
		{name: caseBareLimits, do: command("true")},
		d.beginCase(ctx, caseFirstFree, nil),
		d.beginCase(ctx, caseFirstLimited, few),
		{name: caseExecFree, do: func() error { return d.execWith(ctx, free, nil) }},
		{name: caseExecOfBox, do: func() error { return d.execWith(ctx, limited, nil) }},
		{name: caseExecLimited, do: func() error { return d.execWith(ctx, limited, less) }},
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		cases = append(cases, &measured{name: caseBwrapLimits, do: command("bwrap", bwrapArgs...)})
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
	r.addBeside(cases)
	return nil
}

// addBeside adds cases with their ratio to the bubblewrap of the same rounds,
// where there is one.
func (r *report) addBeside(cases []*measured) {
	for _, c := range cases {
		r.add(c.name, c.times, "")
	}
	bwrap := r.median(caseBwrapLimits)
	for i := len(r.Rows) - len(cases); i < len(r.Rows) && bwrap > 0; i++ {
		r.Rows[i].Ratio = r.Rows[i].Median / bwrap
	}
}

// running makes a box with limits in which something ran, and keeps it so.
func (d *daemon) running(ctx context.Context, l forkbox.Limits) (string, error) {
	box, err := d.Create(ctx, limitedBox(l))
	if err != nil {
		return "", err
	}
	if _, err := d.Start(ctx, box.ID); err != nil {
		return "", err
	}
	return box.ID, d.exec(ctx, box.ID)
}

func limitedBox(l forkbox.Limits) api.CreateRequest {
	return api.CreateRequest{Dir: "/", Env: os.Environ(), Wish: forkbox.Wish{Limits: l}}
}

// beginCase is a box with limits and its first exec. That it is removed is not
// measured.
func (d *daemon) beginCase(ctx context.Context, name string, l forkbox.Limits) *measured {
	var last string
	return &measured{
		name: name,
		do: func() (err error) {
			last, err = d.firstOf(ctx, limitedBox(l))
			return err
		},
		after: func() error { return d.Remove(ctx, last, true) },
	}
}

func (d *daemon) execWith(ctx context.Context, box string, l forkbox.Limits) error {
	req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/"}, Wish: forkbox.Wish{Limits: l}}
	session, err := d.Exec(ctx, box, req, forkbox.Stdio{})
	if err != nil {
		return err
	}
	return finish(ctx, session)
}

// judgeLimits compares with and without.
func (r *report) judgeLimits() {
	for _, c := range []struct{ name, with, without string }{
		{"create + first exec, limits add", caseFirstLimited, caseFirstFree},
		{"exec in a limited box, over one in a free box", caseExecOfBox, caseExecFree},
		{"exec with limits of its own, over one in a free box", caseExecLimited, caseExecFree},
	} {
		if r.median(c.with) > 0 {
			r.want(c.name, limitsCost, r.median(c.with)-r.median(c.without), "ms")
		}
	}
}
