package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/forkbox/forkbox"
)

// RaceList is races, as they are listed: without their commands, and without
// what each of their checks and metrics came to.
type RaceList struct {
	Races []forkbox.Race `json:"races"`
}

// NewestRace is what the API calls the newest race of the caller's. No race can
// have that name.
const NewestRace = "@newest"

// RaceLine is one line of a race's events as the API sends them: an event, or
// at the end what went wrong.
type RaceLine struct {
	*forkbox.RaceEvent
	Error *forkbox.Error `json:"error,omitempty"`
}

// RaceLogLine is one line of a transcript as the API sends it.
type RaceLogLine struct {
	*forkbox.RaceLog
	Error *forkbox.Error `json:"error,omitempty"`
}

// StartRace starts a race and returns. It runs in the daemon, whatever becomes
// of the caller.
func (c *Client) StartRace(ctx context.Context, spec forkbox.RaceSpec) (race forkbox.Race, err error) {
	err = c.call(ctx, "start a race", http.MethodPost, "/races", spec, &race)
	return race, err
}

// Races lists the caller's, newest first. [Client.GetRace] has all of one.
func (c *Client) Races(ctx context.Context) ([]forkbox.Race, error) {
	var list RaceList
	err := c.call(ctx, "list races", http.MethodGet, "/races", nil, &list)
	return list.Races, err
}

// GetRace finds a race by name, id or unambiguous prefix, as every method here
// does. An empty ref is the newest; only here and to follow: what changes
// something has to say what it means.
func (c *Client) GetRace(ctx context.Context, ref string) (race forkbox.Race, err error) {
	err = c.call(ctx, strings.TrimSpace("find race "+ref), http.MethodGet, orNewest(ref), nil, &race)
	return race, err
}

// CancelRace ends a race. It returns when nothing of it runs any more; what its
// boxes hold stays. One that has ended already stays as it is.
func (c *Client) CancelRace(ctx context.Context, ref string) (race forkbox.Race, err error) {
	err = c.call(ctx, "cancel race "+ref, http.MethodPost, racePath(ref, "cancel"), struct{}{}, &race)
	return race, err
}

// RemoveRace removes a race with its boxes and transcripts. With force also one
// that runs.
func (c *Client) RemoveRace(ctx context.Context, ref string, force bool) error {
	path := racePath(ref)
	if force {
		path += "?force=1"
	}
	return c.call(ctx, "remove race "+ref, http.MethodDelete, path, nil, nil)
}

// ApplyRace lands an approach in reality: the winner, if the spec names none. A
// dry run returns a receipt without an id.
func (c *Client) ApplyRace(ctx context.Context, ref string, spec forkbox.RaceApply) (landing forkbox.RaceLanding, err error) {
	err = c.call(ctx, "apply race "+ref, http.MethodPost, racePath(ref, "apply"), spec, &landing)
	return landing, err
}

// RaceLog calls yield for each piece of what an approach printed, one command
// after another; of none, what the setup printed. With follow it goes on until
// the approach is done.
func (c *Client) RaceLog(ctx context.Context, ref, approach string, follow bool, yield func(forkbox.RaceLog) error) error {
	op := "read what was printed in race " + ref
	q := url.Values{"approach": {approach}}
	if follow {
		q.Set("follow", "1")
	}
	resp, err := c.send(ctx, op, http.MethodGet, racePath(ref, "log")+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line RaceLogLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.RaceLog == nil:
			return nil
		}
		return yield(*line.RaceLog)
	})
}

// racePath is the path of a race, and of what is below it.
func racePath(ref string, below ...string) string {
	path := "/races/" + segment(ref)
	for _, name := range below {
		path += "/" + name
	}
	return path
}

// orNewest is racePath where no race need be named.
func orNewest(ref string, below ...string) string {
	if ref == "" {
		ref = NewestRace
	}
	return racePath(ref, below...)
}
