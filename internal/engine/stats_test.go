package engine

import (
	"os"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestStats(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30})
	w.make("rests", nil)
	w.host.setUsed(b.ID, usage{4096, 2})
	w.exec("one")
	m := w.host.instance(b.ID)
	// Two seconds of processor in one of time are two processors.
	measured := func(n int) {
		m.with(func(m *machine) {
			m.stats = forkbox.Stats{Time: w.clock.read().Time, CPU: time.Duration(2*n) * time.Second, Memory: int64(n), Pids: 3}
		})
		w.eventually("it is measured", func() bool {
			s, err := w.Stats(t.Context(), ada, "one", true)
			check(t, err)
			return len(s.Series) > 0 && s.Series[len(s.Series)-1].Memory == int64(n)
		})
	}
	measured(1)
	w.clock.pass(time.Second)
	measured(2)
	w.clock.pass(time.Second)
	m.with(func(m *machine) { m.stats.Time, m.stats.CPU = w.clock.read().Time, 6*time.Second })
	s, err := w.Stats(t.Context(), ada, "one", false)
	check(t, err)
	if s.Now.Memory != 2 || s.Now.Disk != 4096 || s.Now.Inodes != 2 || s.Series != nil || s.CPU < 199 || s.CPU > 201 {
		t.Errorf("got %+v", s)
	}
	all, err := w.AllStats(t.Context(), ada)
	if err != nil || len(all) != 2 || all[0].Now.Memory != 2 || all[1].State != forkbox.Stopped || all[1].Name != "rests" {
		t.Errorf("got %+v, %v", all, err)
	}
	if others, err := w.AllStats(t.Context(), bob); err != nil || len(others) != 0 {
		t.Errorf("bob sees %+v, %v", others, err)
	}

	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	w.host.setUsed(b.ID, usage{8192, 3})
	w.again()
	s, err = w.Stats(t.Context(), ada, "one", true)
	if err != nil || s.Now.Memory != 2 || s.Now.Disk != 8192 || len(s.Series) == 0 {
		t.Errorf("at rest: %+v, %v", s, err)
	}
	w.clock.pass(2 * time.Hour)
	if s, err = w.Stats(t.Context(), ada, "one", true); err != nil || s.Series == nil || len(s.Series) != 0 {
		t.Errorf("an hour is over: %+v, %v", s, err)
	}
	check(t, w.Remove(t.Context(), ada, "one", false))
	if left, _ := os.ReadDir(w.dir); len(left) != 0 {
		t.Errorf("of a box that is gone %v is left", left)
	}
}

func TestHitsOfLimitsAreTold(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", forkbox.Limits{forkbox.Memory: 1 << 30})
	w.exec("one")
	m := w.host.instance(b.ID)
	m.with(func(m *machine) { m.stats.OOMKills = 2 })
	w.eventually("it is told", func() bool { return w.count("one", forkbox.EventOOM) == 1 })
	w.again() // it was told already
	m.with(func(m *machine) { m.stats.PidsHits = 1 })
	w.eventually("the next is told or taken for granted", func() bool {
		s, err := w.Stats(t.Context(), ada, "one", true)
		check(t, err)
		return len(s.Series) > 0 && s.Series[len(s.Series)-1].PidsHits == 1
	})
	if w.count("one", forkbox.EventOOM) != 1 {
		t.Errorf("told of %v", w.events("one"))
	}
}
