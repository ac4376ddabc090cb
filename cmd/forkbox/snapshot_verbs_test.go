//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// family is what there is, by name.
type family struct {
	boxes     map[string]forkbox.Box
	snapshots map[string]map[string]forkbox.Snapshot // by box
	templates map[string]bool
}

func (m *modelled) family() family {
	m.Helper()
	all, err := m.Family(m.Context())
	m.ok(err)
	f := family{map[string]forkbox.Box{}, map[string]map[string]forkbox.Snapshot{}, map[string]bool{}}
	names := map[string]string{}
	for _, b := range all.Boxes {
		f.boxes[b.Name], f.snapshots[b.Name], names[b.ID] = b, map[string]forkbox.Snapshot{}, b.Name
		if b.State != forkbox.Stopped && b.State != forkbox.Running {
			m.Errorf("%s is %s", b.Name, b.State)
		}
	}
	for _, s := range all.Snapshots {
		if names[s.Box] == "" {
			m.Fatalf("snapshot %s has no box", s.Name)
		}
		f.snapshots[names[s.Box]][s.Name] = s
	}
	for _, t := range all.Templates {
		f.templates[t.Name] = true
	}
	return f
}

// certain fails the test if something was said to be done and is not there.
func (m *modelled) certain(what string, failed, there bool) {
	m.Helper()
	if !failed && !there {
		m.Fatalf("%s was said to be done, and is not", what)
	}
}

func (m *modelled) snapshot() {
	m.Helper()
	m.snapshotOf(m.anyBox())
}

func (m *modelled) snapshotOf(box string) {
	m.Helper()
	b, name := m.boxes[box], m.name("s")
	m.say("snapshot %s %s (busy: %v)", box, name, b.busy)
	failed, killed := m.during("snapshot", func() error {
		_, err := m.Snapshot(m.Context(), box, forkbox.SnapshotSpec{Name: name})
		return err
	})
	_, there := m.family().snapshots[box][name]
	m.certain("the snapshot", failed, there)
	if there {
		b.snaps[name] = maps.Clone(b.now)
	}
	m.after(killed, box)
}

func (m *modelled) rollback() {
	m.Helper()
	box := m.anyBox()
	b, to := m.boxes[box], m.anySnapshot(box)
	if to == "" {
		return
	}
	m.say("rollback %s %s (busy: %v)", box, to, b.busy)
	failed, killed := m.during("rollback", func() error {
		_, err := m.Rollback(m.Context(), box, forkbox.RollbackSpec{To: to, Force: true})
		return err
	})
	kept := m.keptByRollbacks(box)
	m.certain("the rollback", failed, kept != "")
	if kept != "" {
		b.snaps[kept], b.now = b.now, maps.Clone(b.snaps[to])
	}
	m.forgottenByRollbacks(box)
	m.after(killed, box)
}

// keptByRollbacks is the snapshot that a rollback made just now, "" if none.
func (m *modelled) keptByRollbacks(box string) (kept string) {
	for name, s := range m.family().snapshots[box] {
		if _, known := m.boxes[box].snaps[name]; !known && s.Auto {
			kept = name
		}
	}
	return kept
}

// forgottenByRollbacks has the model forget what rollbacks long ago kept, of
// which ten stay.
func (m *modelled) forgottenByRollbacks(box string) {
	m.Helper()
	there, autos := m.family().snapshots[box], 0
	for _, s := range there {
		if s.Auto {
			autos++
		}
	}
	for name := range m.boxes[box].snaps {
		if _, ok := there[name]; ok {
			continue
		}
		if !strings.HasPrefix(name, "auto-") || autos < 10 {
			m.Fatalf("snapshot %s of %s is gone; %d that rollbacks kept are left", name, box, autos)
		}
		delete(m.boxes[box].snaps, name)
	}
}

// origin is a box, or a snapshot of one, and what it shows.
func (m *modelled) origin() (box, ref string, shows model) {
	box = m.anyBox()
	if s := m.anySnapshot(box); s != "" && m.rng.IntN(2) == 0 {
		return box, box + "@" + s, m.boxes[box].snaps[s]
	}
	return box, box, m.boxes[box].now
}

// most is how many boxes there are at a time.
const most = 7

func (m *modelled) fork() {
	m.Helper()
	if len(m.boxes) >= most {
		m.removeBox()
		return
	}
	box, ref, shows := m.origin()
	name, count := m.name("fork-"), 1+m.rng.IntN(3)
	m.say("fork %s %s --count %d", ref, name, count)
	failed, killed := m.during("fork", func() error {
		f, err := m.Fork(m.Context(), ref, forkbox.ForkSpec{Name: name, Count: count})
		for _, c := range f.Children {
			if c.Error != nil {
				err = c.Error
			}
		}
		return err
	})
	m.madeByTheWay(box)
	for i := range count {
		child := name
		if count > 1 {
			child = fmt.Sprintf("%s-%d", name, i+1)
		}
		m.maybeBorn(child, shows, failed)
	}
	m.after(killed, box)
}

// maybeBorn: a box is there, or was not made because the daemon was killed.
func (m *modelled) maybeBorn(name string, shows model, failed bool) {
	m.Helper()
	_, there := m.family().boxes[name]
	m.certain("box "+name, failed, there)
	if there {
		m.adopt(name, shows)
		m.agrees(name)
	}
}

// madeByTheWay has the model know the snapshot that a fork, or a template, made
// of a box.
func (m *modelled) madeByTheWay(box string) {
	b := m.boxes[box]
	for name, s := range m.family().snapshots[box] {
		if _, known := b.snaps[name]; !known && s.Message == "forked" {
			b.snaps[name] = maps.Clone(b.now)
		}
	}
}

func (m *modelled) newFrom() {
	m.Helper()
	box := m.anyBox()
	s := m.anySnapshot(box)
	if s == "" || len(m.boxes) >= most {
		return
	}
	name := m.name("new-")
	m.say("new %s --from %s@%s", name, box, s)
	failed, killed := m.during("new", func() error {
		_, err := m.Create(m.Context(), client.CreateRequest{Name: name, From: box + "@" + s, Dir: m.root})
		return err
	})
	m.maybeBorn(name, m.boxes[box].snaps[s], failed)
	m.after(killed, box)
}

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
			_, err := m.Create(m.Context(), client.CreateRequest{Name: name, Template: t, Dir: m.root})
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

// busyOrNot has something run in a box, or stops it.
func (m *modelled) busyOrNot() {
	m.Helper()
	box := m.anyBox()
	b := m.boxes[box]
	m.say("busy %s: %v", box, !b.busy)
	if b.busy {
		_, err := m.Stop(m.Context(), box, new(time.Duration))
		m.ok(err)
		b.busy = false
		return
	}
	_, err := m.ExecDetached(m.Context(), box, client.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sleep", "1000"}, Dir: m.root}})
	m.ok(err)
	b.busy = true
}

// deepen makes a stack that has to be flattened.
func (m *modelled) deepen() {
	m.Helper()
	if m.rng.IntN(3) > 0 {
		m.edits()
		return
	}
	box := m.anyBox()
	for range 18 {
		m.editsOf(box)
		m.snapshotOf(box)
	}
}
