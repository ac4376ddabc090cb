package client

import (
	"context"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// How long a call that must not be left half-way goes on when its context has
// ended: for the answer to a start, and for everything in a race to stop.
const (
	startPatience  = 5 * time.Second
	cancelPatience = time.Minute
)

// Race starts a race and follows it to its end. A daemon that dies meanwhile is
// started again, where [Client.Redial] can, and goes on with it. When ctx ends,
// or yield fails, the race is cancelled; the record is then of how far it came.
func (c Racing) Race(ctx context.Context, spec forkbox.RaceSpec, yield func(forkbox.RaceEvent) error) (forkbox.Race, error) {
	if ctx.Err() != nil {
		return forkbox.Race{}, ctx.Err()
	}
	race, err := c.startPatiently(ctx, spec)
	if err != nil {
		return race, err
	}
	f := follower{ref: race.ID, race: race, yield: yield, heard: true} // it has begun: it is there to be followed
	err = c.follow(ctx, &f)
	if !f.ended && (ctx.Err() != nil || f.own != nil) {
		return c.giveUp(ctx, f.race, err)
	}
	return f.race, err
}

// startPatiently waits for the answer also when ctx has ended: nothing else
// would cancel a race that has just begun.
func (c Racing) startPatiently(ctx context.Context, spec forkbox.RaceSpec) (forkbox.Race, error) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(startPatience, cancel) })()
	return c.StartRace(late, spec)
}

// giveUp cancels a race that the client does not wait for any more, because of
// err.
func (c Racing) giveUp(ctx context.Context, race forkbox.Race, err error) (forkbox.Race, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
	defer cancel()
	last, failed := c.CancelRace(ctx, race.ID)
	if failed != nil {
		return race, forkbox.Wrap("cancel race "+race.Name, failed)
	}
	return last, err
}

// FollowRace calls yield for each event of a race, from its present state to its
// end, and returns it as it is then. A daemon that dies meanwhile is started
// again, where [Client.Redial] can, and followed on. An empty ref is the newest.
// When ctx ends the race goes on.
func (c Racing) FollowRace(ctx context.Context, ref string, yield func(forkbox.RaceEvent) error) (forkbox.Race, error) {
	f := follower{ref: ref, yield: yield}
	err := c.follow(ctx, &f)
	return f.race, err
}

// follower follows a race, through several daemons if need be.
type follower struct {
	ref   string
	yield func(forkbox.RaceEvent) error

	race  forkbox.Race // the last that was heard of it
	heard bool
	ended bool
	own   error // yield's
}

func (f *follower) take(e forkbox.RaceEvent) error {
	if e.Record != nil {
		f.race, f.ref = *e.Record, e.Record.ID // the newest may soon be another
	}
	f.heard = true
	if f.yield != nil {
		f.own = f.yield(e)
	}
	f.ended = e.Kind == forkbox.RaceEnds
	return f.own
}

func (c Racing) follow(ctx context.Context, f *follower) error {
	over := func() bool { return f.own != nil || f.ended || !f.heard }
	return persist(ctx, over, func() error {
		err := c.followOnce(ctx, f)
		if err == nil && !f.ended {
			err = forkbox.Errorf(forkbox.Unavailable, "follow race "+f.ref, "the daemon has gone")
		}
		return err
	})
}

func (c Racing) followOnce(ctx context.Context, f *follower) error {
	op := strings.TrimSpace("follow race " + f.ref)
	resp, err := c.send(ctx, op, api.FollowRace.Route, nil, nil, orNewest(f.ref))
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line api.RaceLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.RaceEvent == nil:
			return nil
		}
		return f.take(*line.RaceEvent)
	})
}
