package client

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Racing is races.
type Racing struct{ *link }

// StartRace starts a race and returns. It runs in the daemon, whatever becomes
// of the caller.
func (c Racing) StartRace(ctx context.Context, spec forkbox.RaceSpec) (forkbox.Race, error) {
	return do(ctx, c.link, "start a race", api.StartRace, spec, nil)
}

// Races lists the caller's, newest first. [Client.GetRace] has all of one.
func (c Racing) Races(ctx context.Context) ([]forkbox.Race, error) {
	list, err := do(ctx, c.link, "list races", api.ListRaces, api.None{}, nil)
	return list.Races, err
}

// GetRace finds a race by name, id or unambiguous prefix, as every method here
// does. An empty ref is the newest; only here and to follow: what changes
// something has to say what it means.
func (c Racing) GetRace(ctx context.Context, ref string) (forkbox.Race, error) {
	return do(ctx, c.link, strings.TrimSpace("find race "+ref), api.GetRace, api.None{}, nil, orNewest(ref))
}

// CancelRace ends a race. It returns when nothing of it runs any more; what its
// boxes hold stays. One that has ended already stays as it is.
func (c Racing) CancelRace(ctx context.Context, ref string) (forkbox.Race, error) {
	return do(ctx, c.link, "cancel race "+ref, api.CancelRace, api.None{}, nil, ref)
}

// RemoveRace removes a race with its boxes and transcripts. With force also one
// that runs.
func (c Racing) RemoveRace(ctx context.Context, ref string, force bool) error {
	_, err := do(ctx, c.link, "remove race "+ref, api.RemoveRace, api.None{}, flags("force", force), ref)
	return err
}

// ApplyRace lands an approach in reality: the winner, if the spec names none. A
// dry run returns a receipt without an id.
func (c Racing) ApplyRace(ctx context.Context, ref string, spec forkbox.RaceApply) (forkbox.RaceLanding, error) {
	return do(ctx, c.link, "apply race "+ref, api.ApplyRace, spec, nil, ref)
}

// RaceLog calls yield for each piece of what an approach printed, one command
// after another; of none, what the setup printed. With follow it goes on until
// the approach is done.
func (c Racing) RaceLog(ctx context.Context, ref, approach string, follow bool, yield func(forkbox.RaceLog) error) error {
	op := "read what was printed in race " + ref
	q := url.Values{"approach": {approach}}
	if follow {
		q.Set("follow", "1")
	}
	resp, err := c.send(ctx, op, api.ReadRaceLog.Route, nil, q, ref)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line api.RaceLogLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.RaceLog == nil:
			return nil
		}
		return yield(*line.RaceLog)
	})
}

// orNewest is what the API calls a race where none need be named.
func orNewest(ref string) string { return cmp.Or(ref, api.NewestRace) }
