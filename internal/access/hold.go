package access

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
)

// Hold is the context of a request that a principal makes. It ends when their right
// does: a token is revoked or expires, a certificate runs out. Without that whoever
// once opened a stream would keep it for ever. release is called when the request is over.
func (t *Tokens) Hold(ctx context.Context, p *Principal) (held context.Context, release func()) {
	held, end := context.WithCancelCause(ctx)
	stop := func() {}
	if p.Until != nil {
		timer := time.AfterFunc(time.Until(*p.Until), func() { end(noLonger(p, "expired", *p.Until)) })
		stop = func() { timer.Stop() }
	}
	let := func() {}
	if p.token != nil {
		let = t.hold(p, end)
	}
	return held, func() {
		stop()
		let()
		end(nil)
	}
}

// hold has a request be ended with its token.
func (t *Tokens) hold(p *Principal, end context.CancelCauseFunc) (let func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, ok := t.known[p.ID]; ok && token.Revoked != nil { // since it was let in
		end(noLonger(p, "was revoked", *token.Revoked))
		return func() {}
	}
	requests := t.held[p.ID]
	if requests == nil {
		requests = map[*context.CancelCauseFunc]*Principal{}
		t.held[p.ID] = requests
	}
	requests[&end] = p
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(requests, &end); len(requests) == 0 {
			delete(t.held, p.ID)
		}
	}
}

// endHeld ends what a token's holders are at. It is called with the lock held.
func (t *Tokens) endHeld(token forkbox.Token) {
	for end, p := range t.held[token.ID] {
		(*end)(noLonger(p, "was revoked", *token.Revoked))
	}
	delete(t.held, token.ID)
}

// endedError is the cause of a context whose principal may no longer.
type endedError struct{ why *forkbox.Error }

func (e endedError) Error() string { return e.why.Error() }

func noLonger(p *Principal, how string, at time.Time) error {
	e := refused()
	e.Why = "the " + string(p.Kind) + " " + p.ID + " " + how + " at " + at.UTC().Format(time.RFC3339)
	return endedError{e}
}

// Ended is why a request is over whose principal lost the right to it; nil as long as
// they have it.
func Ended(ctx context.Context) error {
	var ended endedError
	if errors.As(context.Cause(ctx), &ended) {
		return ended.why
	}
	return nil
}
