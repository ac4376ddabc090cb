package cgroup

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// BenchmarkLimits is what limits add to making a box and starting an exec in
// it.
func BenchmarkLimits(b *testing.B) {
	h, err := Open(freshName())
	if err != nil {
		b.Skip(err)
	}
	defer h.Close()
	limits := forkbox.Limits{forkbox.Memory: 512 * megabyte, forkbox.CPUs: 1500, forkbox.Pids: 512}
	for i := 0; b.Loop(); i++ {
		g, s, err := limited(h, fmt.Sprint("b", i), limits)
		b.StopTimer()
		if err == nil {
			err = errors.Join(s.Remove(), g.Remove(b.Context()))
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func limited(h *Host, id string, l forkbox.Limits) (*Group, *Sub, error) {
	g, err := h.New(id)
	if err != nil {
		return nil, nil, err
	}
	if err := g.Set(l); err != nil {
		return nil, nil, err
	}
	s, err := g.Exec("1", nil)
	if err != nil {
		return nil, nil, err
	}
	for _, way := range []func() (*Entry, error){g.Init, s.Entry} {
		e, err := way()
		if err != nil {
			return nil, nil, err
		}
		e.Close()
	}
	return g, s, nil
}

// BenchmarkStats is what a box's owner, and every race, asks for.
func BenchmarkStats(b *testing.B) {
	h, err := Open(freshName())
	if err != nil {
		b.Skip(err)
	}
	defer h.Close()
	g, s, err := limited(h, "b", nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := g.Stats(); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(s.Remove(), g.Remove(context.Background())); err != nil {
		b.Fatal(err)
	}
}
