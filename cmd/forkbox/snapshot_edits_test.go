//go:build linux

package main

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/forkbox/forkbox"
)

// edits does some things to the files of a box.
func (m *modelled) edits() {
	m.Helper()
	m.editsOf(m.anyBox())
}

func (m *modelled) editsOf(box string) {
	m.Helper()
	b := m.boxes[box]
	var list []edit
	for range 1 + m.rng.IntN(6) {
		if e, ok := m.draw(b.now); ok {
			b.now.apply(e)
			list = append(list, e)
		}
	}
	m.say("edit %s %v", box, list)
	if diff := b.now.differs(m.edit(box, list...)); diff != "" {
		m.Fatalf("after %s, %s is not as it should be:\n%s", m.did[len(m.did)-1], box, diff)
	}
}

// pick is any path of a tree that is as it should be, "" if there is none. The
// two directories that reality gave stay where they are.
func (m *modelled) pick(t model, ok func(p string, l leaf) bool) string {
	var all []string
	for _, p := range slices.Sorted(maps.Keys(t)) {
		if p != "work" && p != "there" && ok(p, t[p]) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[m.rng.IntN(len(all))]
}

func anything(string, leaf) bool { return true }

func writable(_ string, l leaf) bool { return l.Kind == 'f' && l.Mode&0o200 != 0 }

var snapNames = []string{"a", "b", "c", "d0", "e1", "f0", "f1", "with space", "new\nline", "ünï", "-x", ".hidden", ".wh.a"}

// spot is where something new can be made, "" if none was found.
func (m *modelled) spot(t model) string {
	dirs := t.dirs()[1:] // not beside the two
	for range 10 {
		p := path.Join(dirs[m.rng.IntN(len(dirs))], snapNames[m.rng.IntN(len(snapNames))])
		if t.free(p) && len(p) < 200 {
			return p
		}
	}
	return ""
}

// draw is something that can be done to a tree.
func (m *modelled) draw(t model) (e edit, ok bool) {
	m.count++
	e = edit{Content: fmt.Sprint("content ", m.count), Mode: []uint32{0o644, 0o600, 0o755, 0o444}[m.rng.IntN(4)], Time: 1_200_000_000 + int64(m.count)}
	switch m.rng.IntN(12) {
	case 0, 1, 2:
		e.Op, e.Path = "write", m.spot(t)
	case 3:
		e.Op, e.Path = "write", m.pick(t, writable)
	case 4:
		e.Op, e.Path = "append", m.pick(t, writable)
	case 5:
		e.Op, e.Path, e.Mode = "mkdir", m.spot(t), []uint32{0o755, 0o700, 0o777}[m.rng.IntN(3)]
	case 6:
		e.Op, e.Path = "symlink", m.spot(t)
	case 7, 8:
		e.Op, e.Path = "remove", m.pick(t, anything)
	case 9:
		e.Op, e.Path = "chmod", m.pick(t, func(_ string, l leaf) bool { return l.Kind != 'l' })
		if t[e.Path].Kind == 'd' {
			e.Mode |= 0o700
		}
	default:
		return m.drawRename(t, e)
	}
	return e, e.Path != ""
}

func (m *modelled) drawRename(t model, e edit) (edit, bool) {
	e.Op, e.Path, e.To = "rename", m.pick(t, anything), m.spot(t)
	if e.Path != "" && t[e.Path].Kind == 'f' && m.rng.IntN(3) == 0 { // over another file
		e.To = m.pick(t, func(p string, l leaf) bool { return l.Kind == 'f' && p != e.Path })
	}
	return e, e.Path != "" && e.To != "" && !forkbox.Within(e.To, e.Path)
}
