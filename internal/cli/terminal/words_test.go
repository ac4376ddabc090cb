package terminal

import "testing"

func TestRoundBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", 1023: "1023", 1024: "1k", 1536: "1.5k", 1<<20 - 1: "1m", 64 << 20: "64m", 5 << 30: "5g", 3 << 40: "3t", 5000 << 40: "5000t",
	} {
		if got := RoundBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
