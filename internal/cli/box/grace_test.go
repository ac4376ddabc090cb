package box

import (
	"errors"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestGraceIsATimeOrSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Second, "0": 0, "0s": 0, "1m": time.Minute, "1.5": 1500 * time.Millisecond} {
		var g graceTime
		if err := g.Set(text); err != nil || g.span != want || !g.set {
			t.Errorf("%s is %s, error %v", text, g.span, err)
		}
	}
	for _, text := range []string{"", "x", "-5", "5x"} {
		var g graceTime
		if err := g.Set(text); err == nil || g.set || errors.As(err, new(*forkbox.Error)) {
			t.Errorf("%q is %s, error %v", text, g.span, err)
		}
	}
}
