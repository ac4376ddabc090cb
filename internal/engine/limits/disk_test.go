package limits

import (
	"testing"

	"github.com/forkbox/forkbox/internal/engine/core"
)

func TestWriters(t *testing.T) {
	w := func(delta int64) *ward {
		return &ward{h: &core.Handle{}, a: &core.Attached{}, delta: delta}
	}
	paused := w(100)
	paused.a.Known.Paused = "by user ada"
	for _, c := range []struct {
		wards []*ward
		want  int
	}{
		{nil, 0},
		{[]*ward{w(0), w(0)}, 2}, // it may be any of them
		{[]*ward{w(10), w(6), w(1)}, 2},
		{[]*ward{paused, w(1), w(0)}, 1},
	} {
		if got := writers(c.wards); len(got) != c.want {
			t.Errorf("%d are paused, want %d", len(got), c.want)
		}
	}
}
