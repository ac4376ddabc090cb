package providertest

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
)

// Bench measures what people wait for.
func Bench(b *testing.B, f Factory) {
	fixture := f(b)
	b.Run("Exec", func(b *testing.B) { benchExec(b, fixture) })
	b.Run("Life", func(b *testing.B) { benchLife(b, fixture) })
	b.Run("Burst100", func(b *testing.B) { benchBurst(b, fixture) })
}

// benchExec is one command in a box that runs.
func benchExec(b *testing.B, f Fixture) {
	l := NewLab(b, f)
	r := l.Start(l.Box())
	for b.Loop() {
		r.bare()
	}
}

// benchLife is made, one command, gone.
func benchLife(b *testing.B, f Fixture) {
	l := NewLab(b, f)
	for b.Loop() {
		l.live()
	}
}

// benchBurst is a hundred such lives at once.
func benchBurst(b *testing.B, f Fixture) {
	l := NewLab(b, f)
	for b.Loop() {
		var group sync.WaitGroup
		for range 100 {
			group.Go(l.live)
		}
		group.Wait()
	}
}

func (l *Lab) live() {
	r := l.Start(l.Box())
	r.bare()
	if err := r.Instance.Stop(context.Background(), 0); err != nil {
		l.t.Error(err)
	}
	if err := l.Provider.Remove(context.Background(), r.Box); err != nil {
		l.t.Error(err)
	}
}

func (r *Running) bare() {
	id := r.ID()
	if err := r.Exec(id, forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/", Env: os.Environ()}, forkbox.Stdio{}, logCap); err != nil {
		r.lab.t.Error(err)
		return
	}
	r.Wait(id)
}
