//go:build linux

package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// agrees looks at a box.
func (m *modelled) agrees(box string) {
	m.Helper()
	if diff := m.boxes[box].now.differs(m.look(box)); diff != "" {
		m.Fatalf("after %s, %s is not as it should be:\n%s", m.did[len(m.did)-1], box, diff)
	}
}

// after looks at what something was done to; at everything when the daemon was
// killed meanwhile.
func (m *modelled) after(killed bool, box string) {
	m.Helper()
	if box != "" && m.boxes[box] != nil {
		m.whatRuns(box)
		m.agrees(box)
	}
	if killed {
		m.everyBoxAgrees()
	}
}

// whatRuns has the model know what still runs in a box: a rollback ends it.
func (m *modelled) whatRuns(box string) {
	m.Helper()
	var ps []forkbox.Process
	var err error
	answers := func() bool { // one that is coming to rest may not
		ps, err = m.Processes(m.Context(), box)
		return err == nil
	}
	if !comes(answers) {
		m.ok(err)
	}
	m.boxes[box].busy = len(ps) > 1
}

func (m *modelled) everyBoxAgrees() {
	m.Helper()
	there := slices.Sorted(maps.Keys(m.family().boxes))
	if want := slices.Sorted(maps.Keys(m.boxes)); !slices.Equal(there, want) {
		m.Fatalf("after %s there are the boxes %q, not %q", m.did[len(m.did)-1], there, want)
	}
	for _, box := range there {
		m.whatRuns(box)
		m.agrees(box)
	}
}

// snapshotAgrees makes a box of some snapshot and looks at it.
func (m *modelled) snapshotAgrees() {
	m.Helper()
	box := m.anyBox()
	if s := m.anySnapshot(box); s != "" {
		m.startAgrees(api.CreateRequest{Name: "look", From: box + "@" + s, Dir: m.root}, m.boxes[box].snaps[s])
	}
}

func (m *modelled) startAgrees(from api.CreateRequest, want model) {
	m.Helper()
	_, err := m.Create(m.Context(), from)
	m.ok(err)
	if diff := want.differs(m.look(from.Name)); diff != "" {
		m.Fatalf("%s%s is not as it should be:\n%s", from.From, from.Template, diff)
	}
	m.ok(m.Remove(m.Context(), from.Name, true))
}

func (m *modelled) everythingAgrees() {
	m.Helper()
	m.say("the end")
	m.everyBoxAgrees()
	for name, b := range m.boxes {
		more := m.forget(name)
		for s, want := range b.snaps {
			if more[kind(s)] {
				continue
			}
			m.startAgrees(api.CreateRequest{Name: "look", From: name + "@" + s, Dir: m.root}, want)
		}
	}
	for name, want := range m.templates {
		m.startAgrees(api.CreateRequest{Name: "look", Template: name, Dir: m.root}, want)
	}
	for name := range m.boxes {
		m.agreesWithDiff(name)
	}
	m.realityIsUntouched()
}

// clearAway removes everything: nothing is left of it.
func (m *modelled) clearAway() {
	m.Helper()
	for name := range m.templates {
		m.ok(m.RemoveTemplate(m.Context(), name))
	}
	for name := range m.boxes {
		m.ok(m.Remove(m.Context(), name, true))
	}
	m.onlyNamedLayers("when all is removed")
	nothingLeft(m.T, m.home, "when all is removed")
	m.realityIsUntouched()
}

func (m *modelled) realityIsUntouched() {
	m.Helper()
	now, err := look(m.root)
	m.ok(err)
	if diff := restored(now, m.before); diff != "" {
		m.Fatalf("reality changed:\n%s", diff)
	}
}

// agreesWithDiff has the changes that are told of a box turn reality into the
// box, and none of them be untrue.
func (m *modelled) agreesWithDiff(box string) {
	m.Helper()
	var changes []forkbox.Change
	spec := forkbox.DiffSpec{Selection: forkbox.Selection{Paths: []string{m.root}, All: true}}
	_, err := m.Changes(m.Context(), box, spec, func(c forkbox.Change) error {
		changes = append(changes, c)
		return nil
	})
	m.ok(err)
	now := m.boxes[box].now
	got := m.changed(changes, now)
	if diff := timeless(now).differs(timeless(got)); diff != "" {
		m.Errorf("what is told of %s is not what it is:\n%s", box, diff)
	}
	if m.Failed() {
		for _, c := range changes {
			m.Logf("%s %s %q from %q", c.Kind, c.Type, c.Path, c.From)
		}
		m.FailNow()
	}
}

// timeless: that only the time of a file differs is no change.
func timeless(t model) model {
	t = maps.Clone(t)
	for p, l := range t {
		l.Time = 0
		t[p] = l
	}
	return t
}

// changed is reality with changes made to it. What a change does not say, the
// content, is now's.
func (m *modelled) changed(changes []forkbox.Change, now model) model {
	m.Helper()
	got, onto := m.moved(changes)
	for _, c := range changes {
		p := m.rel(c.Path)
		if (c.Kind == forkbox.Deleted || c.Kind == forkbox.Type) && !onto[p] {
			got.clear(p, onto)
		}
	}
	for _, c := range changes {
		p := m.rel(c.Path)
		was, there := got[p]
		is, exists := now[p]
		l := is
		l.Time = was.Time
		switch {
		case c.Kind == forkbox.Deleted:
			continue
		case !exists, c.Kind == forkbox.Added && there, c.Kind == forkbox.Modified && (!there || was.Content == is.Content),
			c.Kind == forkbox.Mode && (!there || l == was):
			m.Errorf("it is not true that %s is %s: was %s, is %s", p, c.Kind, was, is)
		}
		if exists {
			got[p] = is
		}
	}
	return got
}

// clear removes a path and what is below it, but for what was moved to there.
func (t model) clear(path string, onto map[string]bool) {
	for p := range t {
		kept := false
		for to := range onto {
			kept = kept || to != path && forkbox.Within(to, path) && forkbox.Within(p, to)
		}
		if forkbox.Within(p, path) && !kept {
			delete(t, p)
		}
	}
}

// moved is reality after the directories were moved that are told to be. What
// lay where one went to is told as deleted before.
func (m *modelled) moved(changes []forkbox.Change) (got model, onto map[string]bool) {
	got, onto = maps.Clone(m.reality), map[string]bool{}
	from := map[string]string{}
	for _, c := range changes {
		if c.Kind == forkbox.Renamed {
			from[m.rel(c.From)], onto[m.rel(c.Path)] = m.rel(c.Path), true
		}
	}
	for p, to := range from {
		got.apply(edit{Op: "remove", Path: p})
		got.apply(edit{Op: "remove", Path: to})
	}
	for p, l := range m.reality {
		origin := ""
		for f := range from { // the nearest: one may have been moved out of another
			if forkbox.Within(p, f) && len(f) > len(origin) {
				origin = f
			}
		}
		if origin != "" {
			got[from[origin]+p[len(origin):]] = l
		}
	}
	return got, onto
}

func (m *modelled) rel(p string) string {
	rel, err := filepath.Rel(m.root, p)
	m.ok(err)
	return rel
}
