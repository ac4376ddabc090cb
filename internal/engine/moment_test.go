package engine

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func TestMoments(t *testing.T) {
	begin := instant{day, "b1", time.Hour}
	m := *begin.in(2 * time.Hour)
	for _, c := range []struct {
		name string
		now  instant
		left time.Duration
	}{
		{"at once", begin, 2 * time.Hour},
		{"later", instant{day.Add(time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the clock was set back", instant{day.Add(-24 * time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the clock was set forward", instant{day.Add(24 * time.Hour), "b1", 2 * time.Hour}, time.Hour},
		{"the host slept", instant{day.Add(3 * time.Hour), "b1", 4 * time.Hour}, -time.Hour},
		{"the host was restarted", instant{day.Add(time.Hour), "b2", time.Minute}, time.Hour},
		{"it is not known which run it is", instant{day.Add(time.Hour), "", time.Minute}, time.Hour},
	} {
		if left := c.now.left(m); left != c.left {
			t.Errorf("%s: %s are left, want %s", c.name, left, c.left)
		}
	}
}

func TestWarnBefore(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second: time.Second / 2, time.Minute: 30 * time.Second, 2 * time.Minute: time.Minute,
		5 * time.Minute: time.Minute, 10 * time.Minute: time.Minute, 2 * time.Hour: 12 * time.Minute,
	} {
		if got := warnBefore(ttl); got != want {
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
		now := instant{day, "b0", draw("uptime")}
		left := draw("ttl")
		m := *now.in(left)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch d := draw("span"); rapid.SampledFrom([]string{"wait", "set", "restart", "extend", "look"}).Draw(r, "step") {
			case "wait":
				now.time, now.since, left = now.time.Add(d), now.since+d, left-d
			case "set":
				if m.Boot == now.boot { // else nobody could know
					now.time = now.time.Add(d - 500*time.Hour)
				}
			case "restart":
				m = *now.again(m) // what a box that runs has, whose clock was set
				now = instant{now.time.Add(d), now.boot + "x", 0}
				left -= d
			case "extend":
				m, left = *now.later(m, d), max(0, left)+d
			case "look":
				m = *now.again(m)
			}
			if got := now.left(m); got != left {
				r.Fatalf("%s are left, want %s", got, left)
			}
			if again := *now.again(m); again.Time.Sub(now.time) != left || again.Boot != now.boot {
				r.Fatalf("again it is %+v at %+v", again, now)
			}
		}
	})
}

func TestClockThatWasSet(t *testing.T) {
	before := instant{day, "b1", time.Hour}
	for _, c := range []struct {
		now  instant
		want time.Duration
	}{
		{instant{day.Add(time.Minute), "b1", time.Hour + time.Minute}, 0},
		{instant{day.Add(time.Hour), "b1", time.Hour + time.Minute}, 59 * time.Minute},
		{instant{day.Add(-time.Hour), "b1", time.Hour + time.Minute}, -61 * time.Minute},
		{instant{day.Add(time.Hour), "b2", time.Minute}, 0},
	} {
		if got := c.now.jumped(before); got != c.want {
			t.Errorf("%+v: jumped %s, want %s", c.now, got, c.want)
		}
	}
}
