package registry

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

const attempts = 5

// pause is how long to wait before a step is tried again, doubled each time.
var pause = 250 * time.Millisecond

// retry runs a step until it succeeds, fails for good, or was tried often
// enough.
func retry(ctx context.Context, step func(context.Context) error) error {
	wait := pause
	for n := 1; ; n++ {
		err := step(ctx)
		if err == nil || n == attempts || !passing(ctx, err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// passing says whether an error may go away by itself: the network's do, and
// those of a registry that has too much to do.
func passing(ctx context.Context, err error) bool {
	var ours *forkbox.Error
	var no *answer
	var file *fs.PathError // a full disk stays full
	var away astray
	switch {
	case ctx.Err() != nil, errors.As(err, &ours), errors.As(err, &file), errors.As(err, &away), errors.Is(err, errNotThere), errors.Is(err, errNoCredential), notTLS(err):
		return false
	case errors.As(err, &no):
		return no.again || no.status >= 500 || no.status == http.StatusTooManyRequests || no.status == http.StatusRequestTimeout
	}
	return true
}

func notTLS(err error) bool {
	return strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") || strings.Contains(err.Error(), "certificate")
}

// failure says in our words what went wrong.
func (s *session) failure(err error) error {
	var ours *forkbox.Error
	var no *answer
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return forkbox.Wrap(s.op, err)
	case err == nil || errors.As(err, &ours) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errNoCredential):
		return s.denied(err)
	case errors.Is(err, errNotThere):
		return forkbox.Errorf(forkbox.NotFound, s.op, "%s: there is no such image: %w", s.ref, err)
	case errors.As(err, &no) && (no.status == http.StatusUnauthorized || no.status == http.StatusForbidden):
		return s.denied(err)
	case notTLS(err):
		return forkbox.Errorf(forkbox.Unavailable, s.op, "%s: %w", s.ref, err).Hint("does the registry speak TLS? if not, say that plain HTTP is meant")
	}
	return forkbox.Errorf(forkbox.Unavailable, s.op, "%s: %w", s.ref, err)
}

func (s *session) denied(err error) error {
	return forkbox.Errorf(forkbox.Denied, s.op, "%s does not let us: %w", s.ref.Registry, err).
		Hint("log in with docker login %s, or give a name and a password", s.ref.Registry)
}
