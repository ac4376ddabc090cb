package providertest

import "testing"

// check is one property of a provider. It gets a box that runs.
type check struct {
	name string
	run  func(t *testing.T, r *Running)
}

// story is a property of a whole life; it makes its own boxes.
type story struct {
	name string
	run  func(t *testing.T, l *Lab)
	// alone: on a store of its own, because it has another daemon on it.
	alone bool
}

// Run is the suite.
func Run(t *testing.T, f Factory) {
	fixture := f(t)
	groups := []struct {
		name    string
		has     bool
		checks  []check
		stories []story
	}{
		{"Stdio", true, stdioChecks, nil},
		{"Exit", true, exitChecks, nil},
		{"Context", true, contextChecks, nil},
		{"Kill", true, killChecks, nil},
		{"Signal", fixture.Traits.Signals, signalChecks, nil},
		{"Terminal", fixture.Traits.TTY, ttyChecks, nil},
		{"Stream", fixture.Traits.Streams, streamChecks, nil},
		{"Users", fixture.Traits.OtherUsers, userChecks, nil},
		{"OneUser", !fixture.Traits.OtherUsers, oneUserChecks, nil},
		{"Life", true, nil, lifeStories},
		{"Attach", fixture.Traits.Attach, nil, attachStories},
		{"StreamAttach", fixture.Traits.Streams && fixture.Traits.Attach, nil, streamAttachStories},
		{"Apart", true, nil, apartStories},
		{"Network", fixture.Traits.Network, nil, networkStories},
		{"Changes", fixture.Traits.Changes, nil, append(changeStories, fidelityStories...)},
	}
	for _, g := range groups {
		if !g.has {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			runChecks(t, fixture, g.checks)
			runStories(t, f, fixture, g.stories)
		})
	}
}

// runChecks shares one box among the checks of a group: they run at once, as
// the execs of a box do.
func runChecks(t *testing.T, f Fixture, checks []check) {
	if len(checks) == 0 {
		return
	}
	l := NewLab(t, f)
	r := l.Start(l.Box())
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, r.with(t))
		})
	}
}

func runStories(t *testing.T, f Factory, shared Fixture, stories []story) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			fixture := shared
			if s.alone {
				fixture = f(t)
			}
			s.run(t, NewLab(t, fixture))
		})
	}
}
