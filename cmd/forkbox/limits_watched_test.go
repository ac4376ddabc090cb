//go:build linux

package main

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestDiskWatched has a limit of disk where this host can only watch:
// refused unless that is accepted, and then the box stands still when it is
// passed, says so, and goes on with more.
func TestDiskWatched(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	if how, _ := w.how(forkbox.Disk); how != forkbox.Watched {
		t.Skipf("here it is %s", how)
	}
	remedies := []string{"watch", "best-effort"}
	if os.Geteuid() == 0 {
		remedies = append(remedies, "store init")
	}
	w.refused(remedies, "new", "--disk", "16m")
	w.must("new", "--name", "watched", "--disk", "16m", "--limits=best-effort")
	box := w.box("watched")
	if rule := box.Policy[forkbox.Disk]; rule.How != forkbox.Watched || rule.Why == "" || rule.Value != 16*mib {
		t.Errorf("its rule is %+v", rule)
	}
	if text := w.must("show", "watched"); !strings.Contains(text, "watched") || !strings.Contains(text, "16m") {
		t.Errorf("show does not say that it is only watched: %s", text)
	}
	hog := w.begin(box.ID, "", "disk-slow", "128m")
	w.until("it is paused", func() bool { return w.box("watched").Paused != "" })
	if why := w.box("watched").Paused; !strings.Contains(why, "disk limit of 16m") {
		t.Errorf("it is paused: %q", why)
	}
	w.happened(box.ID, forkbox.EventDisk, forkbox.EventPaused)
	w.must("set", "watched", "--disk", "1g")
	w.must("resume", "watched")
	if done, out := hog.ends(); done.Exit.Code != 0 {
		t.Errorf("with more it ended so: %+v\n%s", *done.Exit, out)
	}
}

// TestLimitsRefused asks for every limit that this host does not enforce: each
// is refused with what would help, and with best effort accepted and told.
func TestLimitsRefused(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	values := map[forkbox.Resource]string{
		forkbox.CPUs: "1", forkbox.Memory: "256m", forkbox.Swap: "0", forkbox.Pids: "200", forkbox.Disk: "64m", forkbox.Inodes: "5000",
		forkbox.ReadBytes: "10m", forkbox.WriteBytes: "10m", forkbox.ReadOps: "100", forkbox.WriteOps: "100",
		forkbox.Bandwidth: "1m", forkbox.Connections: "100", forkbox.Files: "100", forkbox.Kept: "1m", forkbox.Timeout: "1h", forkbox.TTL: "1h", forkbox.Idle: "1h",
	}
	enforced := forkbox.Limits{}
	for _, r := range forkbox.Resources {
		if values[r] == "" {
			values[r] = r.Info().Example // of a limit that was added to the table
		}
		wish := forkbox.Wish{Limits: limits(t, string(r)+"="+values[r])}
		if how, _ := w.how(r); how == forkbox.Enforced {
			enforced[r] = wish.Limits[r]
			continue
		}
		w.refusesUnlessAccepted(r, wish)
	}
	box, err := w.tryCreate("enforced", forkbox.Wish{Limits: enforced})
	w.ok(err)
	w.does(box.ID, "worker", "1")
	box, err = w.tryCreate("everything", forkbox.Wish{Limits: allOf(t, values), BestEffort: true})
	w.ok(err)
	w.does(box.ID, "worker", "1")
}

func allOf(t *testing.T, values map[forkbox.Resource]string) forkbox.Limits {
	all := forkbox.Limits{}
	for r, v := range values {
		maps.Copy(all, limits(t, string(r)+"="+v))
	}
	return all
}

// refusesUnlessAccepted finds a limit refused that the host does not enforce,
// in one line and with a remedy, and told as it is where that is accepted.
func (w *limitWorld) refusesUnlessAccepted(r forkbox.Resource, wish forkbox.Wish) {
	w.Helper()
	name := strings.ReplaceAll(string(r), "-", "")
	how, why := w.how(r)
	w.Logf("%s is %s here: %s", r, how, why)
	_, err := w.tryCreate(name, wish)
	w.fails(err, forkbox.Unsupported, string(r), "best-effort")
	var refusal *forkbox.Error
	if !errors.As(err, &refusal) || len(refusal.Hints) < 2 || strings.Contains(refusal.Why, "\n") {
		w.Errorf("%s is refused with more than one line, or without a remedy: %q", r, err)
	}
	wish.BestEffort = true
	box, err := w.tryCreate(name, wish)
	w.ok(err)
	if rule := box.Policy[r]; rule.How != how || rule.Why == "" || rule.Value == forkbox.Unlimited {
		w.Errorf("%s is told as %+v", r, rule)
	}
}
