package core

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func TestEndingsAndSignals(t *testing.T) {
	ttl := &Ending{Cause: forkbox.CauseTTL, By: ByForkbox, Why: "time"}
	for _, c := range []struct {
		why  *Ending
		exit forkbox.Exit
		want forkbox.Cause
	}{
		{ttl, forkbox.Exit{Code: 143, Cause: forkbox.CauseSignalled}, forkbox.CauseTTL},
		{ttl, forkbox.Exit{Code: 3, Cause: forkbox.CauseExited}, forkbox.CauseTTL}, // it gave up by itself
		{ttl, forkbox.Exit{Code: 0, Cause: forkbox.CauseExited}, forkbox.CauseExited},
		{ttl, forkbox.Exit{Code: 137, Cause: forkbox.CauseOOM}, forkbox.CauseOOM},
		{nil, forkbox.Exit{Code: 143, Cause: forkbox.CauseSignalled}, forkbox.CauseSignalled},
	} {
		if got := c.why.Asked(c.exit); got.Cause != c.want || got.Code != c.exit.Code {
			t.Errorf("%+v of %+v is %+v", c.exit, c.why, got)
		}
	}
	from := Signaller{"user ada", 10}
	if exit := from.Sent(forkbox.Exit{Code: 138, Cause: forkbox.CauseSignalled}); exit.By != "user ada" {
		t.Errorf("got %+v", exit)
	}
	if exit := from.Sent(forkbox.Exit{Code: 139, Cause: forkbox.CauseSignalled}); exit.By != "" {
		t.Errorf("another signal is said to be hers: %+v", exit)
	}
}
