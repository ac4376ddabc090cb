package services

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
)

// dataOf is what is copied of a service; nothing if it keeps none.
func (m *Manager) dataOf(ctx context.Context, who forkbox.Owner, s forkbox.Service, o *order) (forkbox.Strings, error) {
	op, set := "copy the service "+s.Name, o.settings[s.Name]
	if s.Container != nil && (len(set.Data) > 0 || set.Copy == forkbox.CopyNone || set.Start != "") {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "it is in a container, and a copy of that has its volumes and is started as it was").
			Hint("leave out `data`, `start` and `copy: none` of what is said of %s", s.Name)
	}
	if set.Copy == forkbox.CopyNone {
		if s.Recipe != generic && len(s.Data) > 0 {
			return nil, forkbox.Errorf(forkbox.Invalid, op, "without a copy of its data it cannot start: boxes do not see the files that %s writes to", s.Recipe).
				Hint("leave out `copy: none`").Hint("or have the box reach the machine's own: --let-in PORT")
		}
		return nil, nil
	}
	if len(set.Data) > 0 {
		if err := m.machine.MayCopy(ctx, who, s, o.places); err != nil {
			return nil, err
		}
	}
	data, err := m.machine.Paths(ctx, s, who.UID)
	if err == nil && len(data) == 0 && set.Settle != "" {
		err = forkbox.Errorf(forkbox.Invalid, op, "it keeps no data that could be settled").Hint("leave out `settle`, or say with `data` what it keeps")
	}
	return data, err
}

// runSettle runs the line that settles a still, in the box that nothing else has.
// It runs as the service does: who owns the data may change it.
func (m *Manager) runSettle(ctx context.Context, who forkbox.Owner, box forkbox.Box, c forkbox.BoxService, set forkbox.ServiceSettings) error {
	if set.Settle == "" {
		return nil
	}
	const op = "settle the data"
	x, err := m.execs.Exec(ctx, who, box.ID, execs.ExecRequest{
		ExecSpec: forkbox.ExecSpec{
			Argv: shellIn(set.Dir, set.Settle), Dir: "/", Env: slices.Concat(forkbox.Strings{}, c.Start.Env, c.Start.Reach), User: userOf(box, c),
		},
		Detached: true, Label: "settle:" + c.Name,
	}, forkbox.Stdio{})
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	// The box goes away with its log: what it said is part of the error.
	x, err = m.execs.Wait(ctx, who, box.ID, x.ID)
	switch {
	case err != nil:
		return forkbox.Wrap(op, err)
	case x.Exit == nil || x.Exit.Code != 0 || x.Exit.Signal != "":
		return forkbox.Errorf(forkbox.Invalid, op, "the command that settles it ended: %s%s", ending(x), m.lastLines(box.ID, x.ID)).
			Hint("no box gets the data before it has succeeded; it ran as %s, in %s", core.OrElse(c.Start.User, "the service's user"), set.Dir)
	}
	return nil
}
