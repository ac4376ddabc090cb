//go:build linux

package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
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
	m.after(killed, box)
}

// keptByRollbacks is the snapshot that a rollback made just now, "" if none.
func (m *modelled) keptByRollbacks(box string) (kept string) {
	for name := range m.family().snapshots[box] {
		if _, known := m.boxes[box].snaps[name]; !known && strings.HasPrefix(name, "auto-") {
			kept = name
		}
	}
	return kept
}

// asked says whether the history asked for a snapshot of this name. The others
// are made by the way.
func asked(name string) bool { return name[0] == 's' }

// kind is what made a snapshot by the way: a rollback, a fork or a template.
func kind(name string) string { return strings.TrimRight(name, "0123456789") }

// kept is how many of a kind stay at least.
func kept(kind string) int {
	if kind == "auto-" {
		return 10
	}
	return 1
}

// forget has the model forget snapshots that were made by the way and have
// gone, which happens in the background. It says which kinds may lose more.
func (m *modelled) forget(box string) (more map[string]bool) {
	m.Helper()
	there, left := m.family().snapshots[box], map[string]int{}
	for name := range there {
		if !asked(name) {
			left[kind(name)]++
		}
	}
	for name := range m.boxes[box].snaps {
		if _, ok := there[name]; ok {
			continue
		}
		if asked(name) || left[kind(name)] < kept(kind(name)) {
			m.Fatalf("snapshot %s of %s is gone; of its kind are left: %d", name, box, left[kind(name)])
		}
		delete(m.boxes[box].snaps, name)
	}
	more = map[string]bool{}
	for k, n := range left {
		more[k] = n > kept(k)
	}
	return more
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
	for name := range m.family().snapshots[box] {
		if _, known := b.snaps[name]; !known {
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
		_, err := m.Create(m.Context(), api.CreateRequest{Name: name, From: box + "@" + s, Dir: m.root})
		return err
	})
	m.maybeBorn(name, m.boxes[box].snaps[s], failed)
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
	_, err := m.ExecDetached(m.Context(), box, api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sleep", "1000"}, Dir: m.root}})
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
