package exec

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// What a shell's user expects no words about.
func TestUsualSignals(t *testing.T) {
	for _, row := range []struct {
		exit  forkbox.Exit
		usual bool
	}{
		{forkbox.Exit{Cause: forkbox.CauseSignalled, Signal: "SIGINT", By: "user bob"}, true},
		{forkbox.Exit{Cause: forkbox.CauseSignalled, Signal: "SIGSEGV"}, true},
		{forkbox.Exit{Cause: forkbox.CauseSignalled, Signal: "SIGKILL", By: "user bob"}, false},
		{forkbox.Exit{Cause: forkbox.CauseOOM, Signal: "SIGKILL"}, false},
	} {
		if usualSignal(row.exit) != row.usual {
			t.Errorf("%+v", row.exit)
		}
	}
}
