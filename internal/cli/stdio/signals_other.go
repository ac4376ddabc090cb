//go:build !unix

package stdio

import (
	"context"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// Signals: there are none to forward on this system.
type Signals struct{}

func CatchSignals(ctx context.Context) (context.Context, *Signals) { return ctx, &Signals{} }

func (*Signals) Forward(*client.Session, func() forkbox.Size, bool) {}
func (*Signals) LeaveOn(func())                                     {}
func (*Signals) OrError(err error) error                            { return err }
func (*Signals) Release()                                           {}

// SignalNumber knows no names here.
func SignalNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n > 0 && n <= 64
}
