package daemon

import "testing"

func TestGarbageIsBounded(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 12 << 20: 400, 24 << 20: 200, 48 << 20: 100, 96 << 20: 50, 1 << 30: 40, 1 << 40: 40} {
		if got := garbageFor(live); got != want {
			t.Errorf("%d MB in use: %d %%, not %d", live>>20, got, want)
		}
	}
}
