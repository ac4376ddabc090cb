package limits

import (
	"os"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestSeriesIsBounded(t *testing.T) {
	file, now := t.TempDir()+"/series", day
	s := series{file: file}
	for n := range 3000 {
		now = now.Add(5 * time.Second)
		check(t, s.add(forkbox.Stats{Time: now, Memory: int64(n)}, now))
	}
	if all := s.all(now); len(all) < 720 || len(all) > 722 || all[len(all)-1].Memory != 2999 {
		t.Errorf("%d samples", len(all))
	}
	// A crash cuts a line off, and the next engine goes on.
	check(t, appendTo(file, []byte(`{"time":"2026-`)))
	again := series{file: file}
	if all := again.all(now); len(all) < 720 || len(all) > 722 || again.lines > 2000 {
		t.Errorf("%d samples of %d lines", len(all), again.lines)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestMeterLeavesMostOfTheTimeToOthers(t *testing.T) {
	m := meter{at: day, cost: time.Second}
	for _, c := range []struct {
		after, age time.Duration
		stale      bool
	}{
		{0, time.Second, false}, {5 * time.Second, time.Second, false}, {10 * time.Second, time.Second, true},
		{5 * time.Second, 0, false}, {15 * time.Second, time.Minute, false}, {time.Minute, time.Minute, true},
	} {
		if got := m.stale(day.Add(c.after), c.age); got != c.stale {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if m.cost = time.Millisecond; !m.stale(day, 0) {
		t.Error("what is cheap is not measured anew")
	}
}
