package client

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Limits is what boxes may use, what they use, and who waits for the host.
type Limits struct{ *link }

// Set changes the limits of a box, at once also of one that runs. What the wish
// does not name stays; [forkbox.Unlimited] lifts a limit. Either all of it holds
// or nothing changed.
func (c Limits) Set(ctx context.Context, ref string, wish forkbox.Wish) (forkbox.Box, error) {
	return do(ctx, c.link, "limit box "+ref, api.SetLimits, wish, nil, ref)
}

// Extend has a box end later by so much than it would.
func (c Limits) Extend(ctx context.Context, ref string, by time.Duration) (forkbox.Box, error) {
	return do(ctx, c.link, "extend box "+ref, api.ExtendBox, api.ExtendRequest{By: by}, nil, ref)
}

// Pause has everything in a box stand still.
func (c Limits) Pause(ctx context.Context, ref string) (forkbox.Box, error) {
	return do(ctx, c.link, "pause box "+ref, api.PauseBox, api.None{}, nil, ref)
}

// Resume has a paused box go on.
func (c Limits) Resume(ctx context.Context, ref string) (forkbox.Box, error) {
	return do(ctx, c.link, "resume box "+ref, api.ResumeBox, api.None{}, nil, ref)
}

// Holds says how each resource can be limited on this host. Those that are not
// in it need nothing of the host.
func (c Limits) Holds(ctx context.Context) (map[forkbox.Resource]forkbox.Holding, error) {
	list, err := do(ctx, c.link, "ask what can be limited", api.ListLimits, api.None{}, nil)
	return list.Holds, err
}

// Policy is the limits that a box of the caller's would get. It makes none.
func (c Limits) Policy(ctx context.Context, wish forkbox.Wish) (forkbox.Policy, error) {
	doc, err := do(ctx, c.link, "ask what would be limited", api.TryLimits, wish, nil)
	return doc.Policy, err
}
