package describe

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestExitText(t *testing.T) {
	for want, exit := range map[string]*forkbox.Exit{
		"running":                    nil,
		"exit 3":                     {Cause: forkbox.CauseExited, Code: 3},
		"ended by SIGKILL":           {Cause: forkbox.CauseSignalled, Signal: "SIGKILL", Code: 137},
		"ended by HUP from user bob": {Cause: forkbox.CauseSignalled, Signal: "HUP", By: "user bob"},
		"killed by the kernel: memory limit of 64m, peak 64m":   {Cause: forkbox.CauseOOM, Limit: 64 << 20, Peak: 64 << 20},
		"killed by the kernel: memory limit of 64m, peak 62.4m": {Cause: forkbox.CauseOOM, Limit: 64 << 20, Peak: 65400000, Why: "said otherwise"},
		"killed by the kernel: memory limit: of its parent":     {Cause: forkbox.CauseOOM, Why: "of its parent"},
		"timed out after 10m": {Cause: forkbox.CauseTimeout, Limit: int64(10 * time.Minute)},
		"timed out after 1s; TERM was not enough, KILL was needed": {
			Cause: forkbox.CauseTimeout, Limit: int64(time.Second), Forced: true,
		},
		"stopped by user bob": {Cause: forkbox.CauseStopped, By: "user bob"},
		"ended where no more processes were allowed: pids limit of 512, peak 512": {Cause: forkbox.CausePids, Limit: 512, Peak: 512},
		"ended where no more disk was allowed: disk limit of 5g, peak 5g":         {Cause: forkbox.CauseDisk, Limit: 5 << 30, Peak: 5 << 30},
		"ended where no more disk was allowed: limit of 100 files":                {Cause: forkbox.CauseDisk, Limit: 100, Why: "limit of 100 files"},
		"the box's time was up after 2h":                                          {Cause: forkbox.CauseTTL, Limit: int64(2 * time.Hour)},
		"stopped for being idle":                                                  {Cause: forkbox.CauseIdle},
		"the host went down: power":                                               {Cause: forkbox.CauseShutdown, Why: "power"},
		"not started: no such directory":                                          {Cause: forkbox.CauseNotRun, Why: "no such directory"},
		"lost: the box died under it":                                             {Cause: forkbox.CauseLost},
		`"stopped: \x1b[2Jgone"`:                                                  {Cause: forkbox.CauseStopped, Why: "\x1b[2Jgone"},
		"something-new: that a daemon knows":                                      {Cause: "something-new", Why: "that a daemon knows"},
	} {
		if got := Exit(exit); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", exit, got, want)
		}
	}
}

// A timeout's figure is in what held for the command.
func TestExitTextOfATimeout(t *testing.T) {
	e := forkbox.Exec{
		Exit:   &forkbox.Exit{Cause: forkbox.CauseTimeout},
		Policy: forkbox.Policy{forkbox.Timeout: {Value: int64(90 * time.Second)}},
	}
	if got := Exit(ExecExit(e)); got != "timed out after 1m30s" || e.Exit.Limit != 0 {
		t.Error(got, e.Exit.Limit)
	}
}
