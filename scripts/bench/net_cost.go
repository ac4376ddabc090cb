package main

import (
	"context"
	"os"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// gateBeside measures what a box with a gate costs over one without. Each kind
// has a daemon of its own: one alone keeps a spare ready for one kind only, and
// the other kind would never find any.
func gateBeside(ctx context.Context, d *daemon, r *report, rounds int) error {
	if box, err := d.Create(ctx, netBox(forkbox.NetPolicy)); err != nil {
		r.missing(caseFirstPolicy, err)
		return nil
	} else if err := d.Remove(ctx, box.ID, true); err != nil {
		return err
	}
	other, err := startDaemon(ctx, d.binary)
	if err != nil {
		return err
	}
	defer other.stop()
	none, policy := other.netCase(ctx, caseFirstNone, forkbox.NetNone), d.netCase(ctx, caseFirstPolicy, forkbox.NetPolicy)
	if err := interleave(3, []*measured{none, policy}); err != nil { // warm up
		return err
	}
	none.times, none.quiet, policy.times, policy.quiet = nil, settle, nil, settle
	if err := add(r, rounds, []*measured{none, policy}); err != nil {
		return err
	}
	// As in the short cases: what the spares hide. Each daemon rests for both.
	none = &measured{name: caseColdNone, quiet: 3 * time.Second / 2, do: none.do, after: none.after}
	policy = &measured{name: caseColdPolicy, quiet: 3 * time.Second / 2, do: policy.do, after: policy.after}
	return add(r, 7, []*measured{none, policy})
}

func netBox(net forkbox.Net) api.CreateRequest {
	return api.CreateRequest{Dir: "/", Env: os.Environ(), Net: string(net)}
}

func (d *daemon) netCase(ctx context.Context, name string, net forkbox.Net) *measured {
	var last string
	return &measured{
		name: name,
		do: func() (err error) {
			last, err = d.firstOf(ctx, netBox(net))
			return err
		},
		after: func() error { return d.Remove(ctx, last, true) },
	}
}
