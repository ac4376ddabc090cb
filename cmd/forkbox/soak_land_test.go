//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// landTry is an apply or an undo, and what came of it.
type landTry struct {
	step        string
	args        []string
	box         string
	receipt     *soakReceipt // that an undo is about
	path        string       // that is to land; "" is all
	before, now view
	refused     *forkbox.Error
	conflicts   []string // where the step says which side wins
	editor      *editor  // at work meanwhile, if any
	killed      bool
}

// land plays an apply or undo. The rules:
//
//   - refused, reality is as it was;
//   - an apply takes a line from reality only if the box saw and deleted it, and
//     brings every line that the box wrote, unless reality deleted it later;
//   - an undo takes only what its apply brought, and brings back what it took;
//   - lines of an editor that is at work meanwhile are there, or are kept with
//     a receipt;
//   - a daemon that is killed has landed all or nothing.
func (s *soak) land(f []string, run func(*exec.Cmd) error, more landTry) {
	a := s.attempt(f, more)
	if a == nil {
		return
	}
	known := s.states()
	a.before = s.viewNow()
	a.refused = s.run(run, a.args)
	after := s.states() // by a daemon that has recovered
	a.now = s.viewNow()
	s.landings++
	a.editor.settle(s, a)
	unchanged := len(differing(a.before, a.now)) == 0
	switch {
	case a.refused != nil && !a.killed:
		s.refuse(a, unchanged)
	case a.killed && unchanged:
	case a.receipt != nil:
		s.undone(a)
	default:
		s.landed(a, newIn(after, known))
	}
}

func (s *soak) viewNow() view {
	s.Helper()
	v, err := viewOf(s.ws)
	s.ok(err)
	return v
}

// attempt reads a step; nil is one that is about no receipt.
func (s *soak) attempt(f []string, a landTry) *landTry {
	a.step = s.history[len(s.history)-1]
	if f[0] == "undo" {
		n, err := strconv.Atoi(f[1])
		s.ok(err)
		if n >= len(s.receipts) {
			return nil
		}
		a.receipt = s.receipts[n]
		a.box, a.args = a.receipt.box, []string{"undo", "--yes", a.receipt.id}
		return &a
	}
	a.box = f[1]
	rest, path := f[2:], "."
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "--") {
		a.path, path, rest = rest[0], rest[0], rest[1:]
	}
	a.args = []string{"apply", "--yes", "--all", a.box, path}
	if len(rest) > 0 {
		a.conflicts = s.conflicts(a.args)
		a.args = append(a.args, rest...)
	}
	return &a
}

// conflicts lists the paths that an apply would be refused for.
func (s *soak) conflicts(args []string) (paths []string) {
	_, refused := s.try(append(slices.Clone(args), "--dry-run")...)
	if refused == nil {
		return nil
	}
	for _, item := range refused.Items {
		rel, err := filepath.Rel(s.ws, item.Path)
		if !filepath.IsAbs(item.Path) {
			rel, err = item.Path, nil
		}
		s.ok(err)
		paths = append(paths, rel)
	}
	return paths
}

// run returns what the command reports; killed, it may report anything.
func (s *soak) run(run func(*exec.Cmd) error, args []string) *forkbox.Error {
	cmd := s.command(append([]string{"--json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if run(cmd) == nil {
		return nil
	}
	var report struct{ Error *forkbox.Error }
	if json.Unmarshal(stderr.Bytes(), &report) == nil && report.Error != nil {
		return report.Error
	}
	return forkbox.Errorf(forkbox.Internal, strings.Join(args, " "), "%s", stderr.String())
}

// newIn is the receipt that was not there before.
func newIn(after, before map[string]forkbox.ReceiptState) string {
	for id := range after {
		if _, ok := before[id]; !ok {
			return id
		}
	}
	return ""
}

// at are the lines at some paths and below or above.
func (v view) at(paths []string) lines {
	some := view{}
	for p, e := range v {
		if slices.ContainsFunc(paths, func(q string) bool { return related(p, q) }) {
			some[p] = e
		}
	}
	return some.lines()
}

func (s *soak) landed(a *landTry, id string) {
	box := s.boxes[a.box]
	before, now := a.before.lines(), a.now.lines()
	gone := before.without(now, box.removed, a.before.at(a.conflicts), a.editor.deleted())
	if a.path != "" { // half of a move has landed: the box has the other
		gone = gone.without(s.look(a.box).lines())
	}
	if a.yieldsElsewhere() {
		given := maps.Clone(gone)
		given.drop(s.notKept(given))
		gone.drop(given)
		box.removed.add(given) // as the step insisted
	}
	if len(gone) > 0 {
		s.Errorf("LOST: %s took lines from reality that the box did not delete: %s", a.step, gone)
	}
	s.give(a.before.at(a.conflicts).without(now), now)
	missing := box.own.without(now, s.forgotten, s.given, box.view.at(a.conflicts), a.editor.deleted())
	yields := a.editor != nil && slices.Contains(a.args, "ours") // to whatever the editor does
	if a.path == "" && !yields && len(missing) > 0 {
		s.Errorf("%s succeeded and these lines of the box are not in reality: %s", a.step, missing)
	}
	s.checkWhole(a, box)
	box.removed.add(a.before.at(a.conflicts).without(now)) // as the step insisted
	if id == "" {
		return
	}
	s.landWorld.receipts[id] = true
	r := &soakReceipt{id: id, box: a.box, paths: differing(a.before, a.now)}
	r.added = now.without(before, a.editor.written())
	r.added.add(now.without(now.without(a.editor.deleted()))) // it brought back what the editor deleted
	r.removed = before.without(now, a.editor.deleted())
	s.receipts = append(s.receipts, r)
	for _, p := range r.paths {
		if a.now[p] == box.view[p] { // else it was merged, and reality has what the box has not seen
			box.rebase([]string{p}, a.now)
		}
		delete(box.touched, p)
	}
}

// give notes what was taken from reality because a step insisted, and is kept with
// its receipt. It may have been a box's that landed before, and that reality had
// moved to where the box deleted everything.
func (s *soak) give(taken, now lines) {
	s.given.drop(now)
	taken.drop(s.notKept(taken))
	s.given.add(taken)
}

// yieldsElsewhere says whether reality gives way to the box at paths that are not
// those of the conflicts: where an editor was at work, or reality has under
// another name what the box moved.
func (a *landTry) yieldsElsewhere() bool {
	return slices.Contains(a.args, "theirs") && (a.editor != nil || slices.ContainsFunc(a.conflicts, func(p string) bool {
		_, there := a.before[p]
		return !there
	}))
}

// notKept are the lines that no receipt keeps.
func (s *soak) notKept(some lines) lines {
	lost := lines{}
	for line := range some {
		if !s.keptSomewhere(line) {
			lost[line] = true
		}
	}
	return lost
}

// checkWhole expects what the box touched, and reality did not, to be in reality
// as it is in the box.
func (s *soak) checkWhole(a *landTry, box *soakBox) {
	if a.path != "" || a.editor != nil || s.edited || len(a.conflicts) > 0 || box.undecided || len(box.told) > 0 {
		return
	}
	for p := range box.touched {
		carried := linesOf([]byte(a.now[p].lines)).without(linesOf([]byte(box.view[p].lines)))
		if len(carried) > 0 && len(carried.without(a.before.lines().without(box.removed))) == 0 {
			continue // it is in a directory that was moved, with what reality has in it
		}
		if box.base[p] == a.before[p] && a.now[p] != box.view[p] {
			s.Errorf("%s succeeded, and %s is %q in reality and %q in the box", a.step, p, a.now[p], box.view[p])
		}
	}
}

// rebase notes what reality is at some paths.
func (b *soakBox) rebase(paths []string, now view) {
	b.base = maps.Clone(b.base)
	for _, p := range paths {
		if e, ok := now[p]; ok {
			b.base[p] = e
		} else {
			delete(b.base, p)
		}
	}
}

func (s *soak) undone(a *landTry) {
	r, before, now := a.receipt, a.before.lines(), a.now.lines()
	gone := before.without(now, r.added, a.editor.deleted())
	// It may have landed a copy of what has been deleted elsewhere since.
	maps.DeleteFunc(gone, func(line string, _ bool) bool { return s.keptSomewhere(line) })
	if len(gone) > 0 {
		s.Errorf("LOST: %s took lines that its apply did not bring: %s", a.step, gone)
	}
	if missing := r.removed.without(now, s.forgotten, a.editor.deleted()); len(missing) > 0 {
		s.Errorf("%s did not bring back %s", a.step, missing)
	}
	s.given.drop(now)
	s.receipts = slices.DeleteFunc(s.receipts, func(x *soakReceipt) bool { return x == r })
	if box := s.boxes[r.box]; box != nil {
		box.rebase(r.paths, a.now)
	}
	for name, box := range s.boxes {
		for _, p := range r.paths {
			if name == r.box || box.view[p] != a.now[p] { // it is a fork, and has what landed
				box.touched[p] = true
			}
		}
	}
}

// refuse checks a refusal, and counts it where nothing that the box touched
// has changed in reality.
func (s *soak) refuse(a *landTry, unchanged bool) {
	s.refused++
	if !unchanged && a.editor == nil {
		s.Errorf("%s was refused and changed reality at %q: %v", a.step, differing(a.before, a.now), a.refused)
	}
	if a.editor != nil {
		return
	}
	if a.refused.Code == forkbox.Internal {
		s.Errorf("%s: %v %v", a.step, a.refused, a.refused.Items)
	}
	box := s.boxes[a.box]
	if a.receipt != nil || a.path != "" || a.refused.Code == forkbox.NotFound || box.undecided || s.edited {
		return
	}
	for _, moved := range differing(box.base, a.before) {
		for p := range box.touched {
			if related(p, moved) {
				return
			}
		}
	}
	s.needless++
	s.Logf("refused without a conflict: %s: %v %v\n%s", a.step, a.refused, a.refused.Items, strings.Join(s.history, "\n"))
}
