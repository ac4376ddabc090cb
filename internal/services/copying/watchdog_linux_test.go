package copying

import (
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// What systemd ends when it is silent for too long is not stopped for half of that,
// whatever its owner allows.
func TestAPauseStaysBelowHalfOfTheWatchdog(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	source := Source{Name: "writer", PID: startWriter(t, dir), Paths: []string{dir}, Watchdog: 20 * time.Millisecond}
	_, err := Take(t.Context(), []Source{source}, Options{Put: into(to), MaxPause: plenty, Way: Delta})
	if forkbox.CodeOf(err) != forkbox.Busy || !strings.Contains(err.Error(), "it may for 10ms") || !strings.Contains(hints(err), "WatchdogSec") || strings.Contains(hints(err), "--pause") {
		t.Errorf("%v, hint %q", err, hints(err))
	}
	wantEmpty(t, to)

	// The copy hangs: the holder lets it go on in time.
	source.Watchdog = 2 * plenty
	tk, err := begin([]Source{source}, Options{Put: into(to), MaxPause: 2 * plenty})
	must(t, err)
	if tk.MaxPause >= plenty || tk.watched != "writer" {
		t.Errorf("it may stand still for %s", tk.MaxPause)
	}
	source.Watchdog = 0
	taken, err := Take(t.Context(), []Source{source}, Options{Put: into(to), MaxPause: plenty, Way: Delta})
	if err != nil || taken.Paused >= plenty {
		t.Errorf("%+v %v", taken, err)
	}
}
