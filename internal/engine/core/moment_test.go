package core

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestMoments(t *testing.T) {
	begin := Instant{day, "b1", time.Hour}
	m := *begin.In(2 * time.Hour)
	for _, c := range []struct {
		name string
		now  Instant
		left time.Duration
	}{
		{"at once", begin, 2 * time.Hour},
		{"later", Instant{day.Add(time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the clock was set back", Instant{day.Add(-24 * time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the clock was set forward", Instant{day.Add(24 * time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the host slept", Instant{day.Add(3 * time.Hour), "b1", 4 * time.Hour}, -time.Hour},
		{"the host was restarted", Instant{day.Add(time.Hour), "b2", time.Minute}, time.Hour},
		{"it is not known which run it is", Instant{day.Add(time.Hour), "", time.Minute}, time.Hour},
	} {
		if left := c.now.Left(m); left != c.left {
			t.Errorf("%s: %s are left, want %s", c.name, left, c.left)
		}
	}
}

func TestWarnBefore(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second: time.Second / 2, time.Minute: 30 * time.Second, 2 * time.Minute: time.Minute,
		5 * time.Minute: time.Minute, 10 * time.Minute: time.Minute, 2 * time.Hour: 12 * time.Minute,
	} {
		if got := WarnBefore(ttl); got != want {
			t.Errorf("%s: warned %s before, want %s", ttl, got, want)
		}
	}
}

// Whatever happens to the clock, a moment comes closer by what really passed,
// as long as the host was not restarted; over a restart, by what the clock says.
func TestMomentsComeAtTheirTime(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spans := rapid.Int64Range(0, int64(1000*time.Hour))
		draw := func(what string) time.Duration { return time.Duration(spans.Draw(r, what)) }
		now := Instant{day, "b0", draw("uptime")}
		left := draw("ttl")
		m := *now.In(left)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch d := draw("span"); rapid.SampledFrom([]string{"wait", "set", "restart", "extend", "look"}).Draw(r, "step") {
			case "wait":
				now.Time, now.Since, left = now.Time.Add(d), now.Since+d, left-d
			case "set":
				if m.Boot == now.Boot { // else it could not be known
					now.Time = now.Time.Add(d - 500*time.Hour)
				}
			case "restart":
				m = *now.Again(m) // what a box that runs has, whose clock was set
				now = Instant{now.Time.Add(d), now.Boot + "x", 0}
				left -= d
			case "extend":
				m, left = *now.Later(m, d), max(0, left)+d
			case "look":
				m = *now.Again(m)
			}
			if got := now.Left(m); got != left {
				r.Fatalf("%s are left, want %s", got, left)
			}
			if again := *now.Again(m); again.Time.Sub(now.Time) != left || again.Boot != now.Boot {
				r.Fatalf("again it is %+v at %+v", again, now)
			}
		}
	})
}

func TestClockThatWasSet(t *testing.T) {
	before := Instant{day, "b1", time.Hour}
	for _, c := range []struct {
		now  Instant
		want time.Duration
	}{
		{Instant{day.Add(time.Minute), "b1", time.Hour + time.Minute}, 0},
		{Instant{day.Add(time.Hour), "b1", time.Hour + time.Minute}, 59 * time.Minute},
		{Instant{day.Add(-time.Hour), "b1", time.Hour + time.Minute}, -61 * time.Minute},
		{Instant{day.Add(time.Hour), "b2", time.Minute}, 0},
	} {
		if got := c.now.Jumped(before); got != c.want {
			t.Errorf("%+v: jumped %s, want %s", c.now, got, c.want)
		}
	}
}
