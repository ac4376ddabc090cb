//go:build !linux

package pool

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Pool is a pool that is mounted: there is none but on Linux.
type Pool struct{}

func linuxOnly(op string) error {
	return forkbox.Errorf(forkbox.Unsupported, op, "pools are for Linux")
}

func Init(context.Context, string, int64) error   { return linuxOnly("make the pool") }
func Open(context.Context, string) (*Pool, error) { return nil, nil }
func Remove(context.Context, string) error        { return linuxOnly("remove the pool") }
func (p *Pool) Dir() string                       { return "" }
func (p *Pool) Grow(context.Context, int64) error { return linuxOnly("make the pool bigger") }
func (p *Pool) Status() (Status, error)           { return Status{}, linuxOnly("look how full the pool is") }
func (p *Pool) Close(context.Context) error       { return nil }
