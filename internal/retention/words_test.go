package retention

import (
	"fmt"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than a second", time.Second - 1: "less than a second", time.Second: "1 second", 90 * time.Second: "1 minute 30 seconds",
		time.Hour: "1 hour", day: "24 hours", 2*day - 1: "47 hours 59 minutes", 2 * day: "2 days", 50 * time.Hour: "2 days 2 hours",
		3*day + 59*time.Minute: "3 days", time.Hour + time.Second: "1 hour", 1<<63 - 1: "106751 days 23 hours",
	} {
		if got := span(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestSizeInWords(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 50 << 30: "50 GiB", 5 << 40: "5 TiB", 10 << 20: "10 MiB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	var children []string
	for i := range 100 {
		children = append(children, fmt.Sprint("c", i))
	}
	for n, want := range map[int]string{
		1: "c0", 2: "c0 and c1", 10: "c0, c1, c2, c3, c4, c5, c6, c7, c8 and c9",
		11: "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 1 more", 100: "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 90 more",
	} {
		if got := list(children[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
