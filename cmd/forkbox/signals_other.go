//go:build !unix

package main

import (
	"context"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// signals: there are none to forward on this system.
type signals struct{}

func catchSignals(ctx context.Context) (context.Context, *signals) { return ctx, &signals{} }

func (*signals) forward(*client.Session, func() forkbox.Size, bool) {}
func (*signals) leaveOn(func())                                     {}
func (*signals) orError(err error) error                            { return err }
func (*signals) release()                                           {}

// signalNumber knows no names here.
func signalNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n > 0 && n <= 64
}
