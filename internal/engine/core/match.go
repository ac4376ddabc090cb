package core

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
)

type matchKey struct{}

// WithMatch has the one [Core.Change] that is made with a context be refused unless
// the box is then as a caller saw it: with one of these tags, or any where one of
// them is "*".
func WithMatch(ctx context.Context, tags []string) context.Context {
	return context.WithValue(ctx, matchKey{}, tags)
}

// matched refuses a box that is not as the caller saw it. The caller has the box's
// turn. The context that it returns is for what is done in that turn, to other boxes
// too.
func matched(ctx context.Context, op string, box forkbox.Box) (context.Context, error) {
	tags, _ := ctx.Value(matchKey{}).([]string)
	if tags == nil {
		return ctx, nil
	}
	if !slices.Contains(tags, "*") && !slices.Contains(tags, box.Tag()) {
		return ctx, forkbox.Errorf(forkbox.Changed, op, "box %s was changed since", box.Name).
			Hint("look at it again: GET /v1/boxes/%s; its ETag is what If-Match takes", box.ID)
	}
	return WithMatch(ctx, nil), nil
}
