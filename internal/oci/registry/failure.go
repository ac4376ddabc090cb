package registry

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

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
	var answer *errcode.ErrorResponse
	var file *fs.PathError // a full disk stays full
	switch {
	case ctx.Err() != nil, errors.As(err, &ours), errors.As(err, &file), errors.Is(err, errdef.ErrNotFound), errors.Is(err, auth.ErrBasicCredentialNotFound), notTLS(err):
		return false
	case errors.As(err, &answer):
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout
	}
	return true
}

func notTLS(err error) bool {
	return strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") || strings.Contains(err.Error(), "certificate")
}

// failure says in our words what went wrong.
func (s *session) failure(err error) error {
	var ours *forkbox.Error
	var answer *errcode.ErrorResponse
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return forkbox.Wrap(s.op, err)
	case err == nil || errors.As(err, &ours) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return s.denied(err)
	case errors.Is(err, errdef.ErrNotFound):
		return forkbox.Errorf(forkbox.NotFound, s.op, "%s: there is no such image: %w", s.ref, err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
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
