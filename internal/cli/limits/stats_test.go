package limits

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestChangedLimits(t *testing.T) {
	was := forkbox.Box{Policy: forkbox.Policy{
		forkbox.Memory: {Value: 1 << 30, How: forkbox.Enforced}, forkbox.Pids: {Value: 512, How: forkbox.Enforced}, forkbox.CPUs: {Value: 500, How: forkbox.Enforced},
	}}
	now := forkbox.Box{Priority: forkbox.LowPriority, Policy: forkbox.Policy{
		forkbox.Memory: {Value: 4 << 30, How: forkbox.Enforced}, forkbox.Pids: {Value: 512, How: forkbox.Enforced},
		forkbox.Disk: {Value: 5 << 30, How: forkbox.Watched, Why: "no quotas"},
	}}
	want := []string{
		"cpus\t0.5 → unlimited", "memory\t1g → 4g", "disk\tunlimited → 5g  (watched: no quotas)", "priority\tnormal → low",
	}
	if got := changedLimits(was, now); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := changedLimits(now, now); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Rates are of what was measured; a box that was started anew, or not measured
// since, has none.
func TestRates(t *testing.T) {
	at := func(seconds int, bytes int64) forkbox.BoxStats {
		return forkbox.BoxStats{Now: forkbox.Stats{Time: time.Unix(int64(seconds), 0), IO: forkbox.IO{ReadBytes: bytes}, CPU: time.Duration(seconds) * time.Second / 2}}
	}
	for _, row := range []struct {
		before, after forkbox.BoxStats
		want          string
	}{
		{at(10, 0), at(12, 4<<20), "2m/s"}, {at(10, 5), at(12, 5), "0/s"}, {at(10, 9), at(12, 1), "-"}, {at(10, 1), at(10, 1), "-"},
	} {
		if got := rate(row.before, row.after, bytesRead); got != row.want {
			t.Errorf("%s, want %s", got, row.want)
		}
	}
	if got := percent(cpuShare(at(10, 0).Now, at(12, 0).Now)); got != "50.0%" {
		t.Error(got)
	}
}

func TestStatsTable(t *testing.T) {
	s := forkbox.BoxStats{
		Name: "try", State: forkbox.Running, CPU: 12.34, Policy: forkbox.Policy{forkbox.Memory: {Value: 64 << 20}, forkbox.CPUs: {Value: 1500}},
		Now: forkbox.Stats{CPU: 3200 * time.Millisecond, Memory: 63 << 20, MemoryPeak: 64 << 20, Pids: 7, OOMKills: 2,
			Pressure: map[string]forkbox.Pressure{"memory": {Some10: 40}, "io": {Some10: 2}}},
	}
	var out strings.Builder
	if err := writeStats(&out, s, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12.3% of 150.0%, 3.2s so far", "63m of 64m, peak 64m", "memory 40.0/0.0/0.0%, io 2.0", "killed for memory"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, gone := range []string{"swap", "inodes", "met its pids"} {
		if strings.Contains(out.String(), gone) {
			t.Errorf("%q is not counted here:\n%s", gone, out.String())
		}
	}
	if got := pressureText(s.Now.Pressure); got != "memory 40%" {
		t.Error(got)
	}
}
