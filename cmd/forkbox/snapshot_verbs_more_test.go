//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (m *modelled) removeSnapshot() {
	m.Helper()
	box := m.anyBox()
	s, squash := m.anySnapshot(box), m.rng.IntN(2) == 0
	if s == "" {
		return
	}
	m.say("rm %s@%s (squash: %v)", box, s, squash)
	var may []forkbox.Code
	if m.mayBeNeeded(box, s, squash) {
		may = append(may, forkbox.Busy)
	}
	failed, killed := m.during(fmt.Sprint("rm snapshot, squash ", squash), func() error {
		return m.RemoveSnapshot(m.Context(), box+"@"+s, squash)
	}, may...)
	_, there := m.family().snapshots[box][s]
	m.certain("the removal", failed, !there)
	if failed && !killed && !there {
		m.Fatal("the removal was refused, and done")
	}
	if !there {
		delete(m.boxes[box].snaps, s)
	}
	m.after(killed, box)
	if squash {
		m.everyBoxAgrees()
	}
}

// mayBeNeeded says whether a snapshot's removal may be refused: something was
// forked from it and, when that could be squashed, something runs.
func (m *modelled) mayBeNeeded(box, snapshot string, squash bool) bool {
	all, err := m.Family(m.Context())
	m.ok(err)
	id := m.family().snapshots[box][snapshot].ID
	child := slices.ContainsFunc(all.Boxes, func(b forkbox.Box) bool { return b.Parent == id }) ||
		slices.ContainsFunc(all.Templates, func(t forkbox.Template) bool { return t.Parent == id })
	runs := false
	for _, b := range m.boxes {
		runs = runs || b.busy
	}
	return child && (!squash || runs)
}

func (m *modelled) removeBox() {
	m.Helper()
	if len(m.boxes) < 2 {
		return
	}
	box := m.anyBox()
	m.say("rm %s", box)
	failed, killed := m.during("rm", func() error { return m.Remove(m.Context(), box, true) })
	_, there := m.family().boxes[box]
	m.certain("the removal", failed, !there)
	if !there {
		delete(m.boxes, box)
	}
	m.after(killed, "")
}

// template makes one, makes a box of one, or removes one.
func (m *modelled) template() {
	m.Helper()
	names := slices.Sorted(maps.Keys(m.templates))
	switch n := m.rng.IntN(3); {
	case n == 0 || len(names) == 0:
		m.createTemplate()
	case n == 1 && len(m.boxes) < most:
		t, name := names[m.rng.IntN(len(names))], m.name("of-")
		m.say("new %s --template %s", name, t)
		failed, killed := m.during("new", func() error {
			_, err := m.Create(m.Context(), api.CreateRequest{Name: name, Template: t, Dir: m.root})
			return err
		})
		m.maybeBorn(name, m.templates[t], failed)
		m.after(killed, "")
	default:
		t := names[m.rng.IntN(len(names))]
		m.say("template rm %s", t)
		failed, killed := m.during("template rm", func() error { return m.RemoveTemplate(m.Context(), t) })
		there := m.family().templates[t]
		m.certain("the removal", failed, !there)
		if !there {
			delete(m.templates, t)
		}
		m.after(killed, "")
	}
}

func (m *modelled) createTemplate() {
	m.Helper()
	box, ref, shows := m.origin()
	name, warm := m.name("template-"), m.rng.IntN(2)
	m.say("template create %s --from %s --warm %d", name, ref, warm)
	failed, killed := m.during("template create", func() error {
		_, err := m.CreateTemplate(m.Context(), forkbox.TemplateSpec{Name: name, From: ref, Warm: warm})
		return err
	})
	m.madeByTheWay(box)
	there := m.family().templates[name]
	m.certain("the template", failed, there)
	if there {
		m.templates[name] = maps.Clone(shows)
	}
	m.after(killed, box)
}
