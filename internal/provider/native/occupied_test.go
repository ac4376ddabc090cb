//go:build linux

package native

import (
	"context"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// Whoever counts by the group and whoever asks init hear the same: a command
// that has ended is not there any more, and what it left running is.
func TestOccupied(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]bool{"as the host has it": true, "without groups": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := lab(t)
			if !groups {
				p.groups = nil
			}
			r := l.Start(l.Box())
			occupied := func(want bool, when string) {
				t.Helper()
				if got, err := r.Instance.(*instance).Occupied(context.Background()); err != nil || got != want {
					t.Errorf("%s: %v, %v", when, got, err)
				}
			}
			occupied(false, "new")
			for range 20 {
				r.Sh("true")
				occupied(false, "after a command")
			}
			id := r.ID()
			must(t, r.Exec(id, providertest.Shell("sleep 1000 & exec sleep 1000"), forkbox.Stdio{}, 1<<20))
			occupied(true, "while one runs")
			must(t, r.Instance.Kill(context.Background(), id, 0))
			r.Wait(id)
			occupied(false, "after it was killed")
			r.Sh("setsid sleep 1000 >/dev/null 2>&1 &")
			occupied(true, "with something left behind")
		})
	}
}
