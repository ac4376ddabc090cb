package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s daemonRoutes) getQueue(r *http.Request, _ api.None) (api.Queue, error) {
	list, err := s.Engine.Queue(r.Context(), who(r))
	return api.Queue{Waiting: notNil(list)}, err
}

// queueLook is how often it is looked whether a client that gave up still
// waits.
const queueLook = 50 * time.Millisecond

// waiting is a context for something that may have to wait for its place in the
// queue. While it waits there it ends when the daemon stops, or one of quit is
// closed; what has its place is not cut off half-way.
func (s *Server) waiting(ctx context.Context, who forkbox.Owner, wish *forkbox.Wish, quit ...<-chan struct{}) (context.Context, context.CancelFunc) {
	if wish.Ticket == "" {
		wish.Ticket = rand.Text()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	for _, ch := range append(quit, s.stopping) {
		go func() {
			select {
			case <-ch:
				s.leaveQueue(ctx, cancel, who, wish.Ticket)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// leaveQueue cancels what waits under a ticket, also if it begins to wait only
// now: one request can have two places to wait at, a box's and its command's.
func (s *Server) leaveQueue(ctx context.Context, cancel context.CancelCauseFunc, who forkbox.Owner, ticket string) {
	tick := time.NewTicker(queueLook)
	defer tick.Stop()
	for ctx.Err() == nil {
		list, err := s.Engine.Queue(ctx, who)
		if err == nil && slices.ContainsFunc(list, func(w forkbox.Waiting) bool { return w.Ticket == ticket }) {
			cancel(s.leftQueue())
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (s *Server) leftQueue() error {
	const op = "wait for a place"
	if s.isStopping() {
		return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping").Hint("try again")
	}
	return forkbox.Errorf(forkbox.Busy, op, "the client has given up")
}

// unqueued is err, or why the queue was left where that is what it came of.
func unqueued(ctx context.Context, err error) error {
	var left *forkbox.Error
	if err != nil && errors.As(context.Cause(ctx), &left) {
		return left
	}
	return err
}
