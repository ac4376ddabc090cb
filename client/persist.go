package client

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// A daemon that dies again and again is given up after so many times. One that
// lived for steadyFor is none of those; that is longer than one is waited for
// which never listens.
const (
	mostDeaths = 20
	steadyFor  = time.Minute
)

// persist asks until there is an answer. A daemon that went away under the
// question is asked again, or the next one, which [Client.Redial] starts; unless
// over says that the caller wants no more.
func persist(ctx context.Context, over func() bool, ask func() error) error {
	for deaths := 1; ; deaths++ {
		began := time.Now()
		err := ask()
		if time.Since(began) > steadyFor {
			deaths = 1
		}
		if forkbox.CodeOf(err) != forkbox.Unavailable || over() || ctx.Err() != nil || deaths == mostDeaths {
			return err
		}
		select {
		case <-time.After(min(time.Duration(deaths)*50*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
