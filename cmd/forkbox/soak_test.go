//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// soakVar is how many random histories to play, from a random seed or the one
// in SOAK_SEED. Without it some that are always the same are played, other ones by
// root than by other users: no editor is at work meanwhile, and daemons die at a
// change, not at a time.
const soakVar = "SOAK"

// TestSoakNothingIsLost plays random histories: boxes, forks and reality edit,
// move and delete; parts land, are undone, synced, rolled back; editors are at
// work meanwhile and the daemon is killed. After each step every line that any
// side wrote is where the model says it must be.
func TestSoakNothingIsLost(t *testing.T) {
	t.Parallel()
	count, first := soakSize(t)
	var refused, landings, needless, kept atomic.Int64
	t.Run("histories", func(t *testing.T) {
		for i := 0; i < count; i++ {
			seed := first + uint64(i)
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				s := newSoak(t)
				s.play(seed, 24)
				refused.Add(int64(s.refused))
				landings.Add(int64(s.landings))
				needless.Add(int64(s.needless))
				kept.Add(int64(s.kept))
			})
		}
	})
	t.Logf("%d histories from seed %d: %d landings and undos, %d refused, %d of them without a conflict; %d lines of editors are kept with a receipt",
		count, first, landings.Load(), refused.Load(), needless.Load(), kept.Load())
	if n := needless.Load(); n > 3 && n*100 > landings.Load() {
		t.Errorf("%d of %d landings were refused without a conflict", n, landings.Load())
	}
}

func soakSize(t *testing.T) (count int, first uint64) {
	t.Helper()
	count, first = 20, 1
	if os.Geteuid() != 0 {
		first += uint64(count)
	}
	if text := os.Getenv(soakVar); text != "" {
		first = uint64(time.Now().UnixNano()) % 1e9
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	if text := os.Getenv("SOAK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first = n
	}
	return count, first
}

// TestSoakHistories plays the histories that once lost something.
func TestSoakHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/soak/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no histories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newSoak(t)
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !t.Failed() {
					s.take(line)
				}
			}
			if s.needless > 0 {
				t.Errorf("something was refused without a conflict")
			}
		})
	}
}

// soak is a workspace, its boxes, and what the model knows of them.
type soak struct {
	*landWorld
	client    *client.Client
	real      view
	boxes     map[string]*soakBox
	receipts  []*soakReceipt
	forgotten lines // what reality itself deleted
	given     lines // what reality had to give up, as a step insisted
	linked    bool  // there are hard links
	edited    bool  // an editor was at work: what is a conflict is not known
	seldom    bool  // boxes are looked at only when a step is about them
	history   []string
	born      int

	refused, landings, needless, kept int
}

// soakBox is what the model knows of a box.
type soakBox struct {
	view      view
	stale     bool  // the view is of before the last steps
	own       lines // what it wrote and did not delete
	removed   lines // what it saw and deleted
	base      view  // reality at the fork, or at the last sync or landing
	touched   map[string]bool
	undecided bool  // since a sync
	told      lines // what reality had when a sync named conflicts
	synced    lines // what reality had at the last sync
	snapshots []soakBox
}

func (b *soakBox) copy() *soakBox {
	c := *b
	c.own, c.removed, c.touched = maps.Clone(b.own), maps.Clone(b.removed), maps.Clone(b.touched)
	c.snapshots = nil
	return &c
}

// soakReceipt is what a landing did to reality.
type soakReceipt struct {
	id             string
	box            string
	added, removed lines
	paths          []string
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{landWorld: newLandWorld(t), boxes: map[string]*soakBox{}, forgotten: lines{}, given: lines{}}
	s.client = s.newClient()
	for _, file := range []string{"a", "b", "d/f", "d/g", "d/s/y", "e/x", "e/t/z", "k/q"} {
		var text strings.Builder
		for i := range 6 {
			fmt.Fprintf(&text, "base-%s-%d\n", strings.ReplaceAll(file, "/", "_"), i+1)
		}
		s.ok(os.MkdirAll(filepath.Dir(filepath.Join(s.ws, file)), 0o755))
		s.ok(os.WriteFile(filepath.Join(s.ws, file), []byte(text.String()), 0o644))
	}
	s.see()
	return s
}

func (s *soak) sh(dir, script string, args ...string) {
	s.Helper()
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%s %q: %v\n%s", script, args, err, out)
	}
}

// play makes and plays a history.
func (s *soak) play(seed uint64, steps int) {
	a := &author{Rand: rand.New(rand.NewPCG(seed, seed)), calm: os.Getenv(soakVar) == ""}
	if a.IntN(4) > 0 {
		s.take("seldom")
	}
	for range steps {
		if s.take(a.step(s)); s.Failed() {
			return
		}
	}
	s.take("look")
}

// take plays a step and checks everything.
func (s *soak) take(step string) {
	s.history = append(s.history, step)
	defer func() {
		if s.Failed() {
			s.Logf("the history so far:\n%s", strings.Join(s.history, "\n"))
		}
	}()
	f := fields(step)
	for _, name := range s.named(f) {
		s.refresh(name)
	}
	s.perform(f)
	s.see()
	for _, name := range s.concerned(f) {
		if s.boxes[name].stale = true; !s.seldom {
			s.refresh(name)
		}
	}
}

// refresh looks at a box whose view is stale, and for what it wrote. That it is
// done before the next step that is about the box finds the same as after each
// step, but later. A step names who is looked at, so that the history can be
// played again.
func (s *soak) refresh(name string) {
	s.Helper()
	box := s.boxes[name]
	if box == nil || !box.stale {
		return
	}
	box.view, box.stale = s.look(name), false
	s.checkOwn(name)
}

// named are the boxes whose views a step is checked with.
func (s *soak) named(f []string) []string {
	if slices.Contains(f, "undo") || slices.Contains(f, "look") {
		return s.names()
	}
	return slices.DeleteFunc(slices.Clone(f), func(word string) bool { return s.boxes[word] == nil })
}

// checkOwn looks for what a box wrote. What reality did below a running overlay
// may confuse that, but not the next one.
func (s *soak) checkOwn(name string) {
	box := s.boxes[name]
	if len(box.own.without(box.view.lines())) == 0 {
		return
	}
	s.fb("stop", name)
	box.view = s.look(name)
	if lost := box.own.without(box.view.lines()); len(lost) > 0 {
		s.Errorf("LOST in the box %s, which wrote it: %s", name, lost)
	}
}

// concerned are the boxes that may show something else after a step. Should
// another do so, the next step that concerns all of them tells.
func (s *soak) concerned(f []string) []string {
	switch f[0] {
	case "box", "diff", "stop", "look", "seldom":
		return nil // it was looked at
	case "new", "snapshot", "rollback", "discard":
		return f[1:2]
	case "fork":
		return f[1:3]
	}
	return s.names()
}

// see looks at reality.
func (s *soak) see() {
	s.Helper()
	s.real = s.viewNow()
}

func (s *soak) look(name string) view {
	s.Helper()
	out, ok := s.show(name)
	if !ok {
		s.fb("stop", name)
		out = []byte(s.in(name, "sh", "-c", lookScript))
	}
	v, err := parseView(string(out))
	s.ok(err)
	return v
}

func (s *soak) names() []string { return slices.Sorted(maps.Keys(s.boxes)) }

func (s *soak) newName() string { return fmt.Sprint("b", s.born+1) }

func (s *soak) perform(f []string) {
	switch f[0] {
	case "seldom": // is a step, so that the history can be played again
		s.seldom = true
	case "look":
	case "real":
		s.editReality(f[1:])
	case "box":
		s.editBox(f[1], f[2:])
	case "new":
		s.adopt(f[1], &soakBox{own: lines{}, removed: lines{}, base: s.real, touched: map[string]bool{}}, "new", "--name", f[1])
	case "fork":
		s.adopt(f[2], s.boxes[f[1]].copy(), "fork", f[1], f[2])
	case "snapshot":
		s.fb("snapshot", f[1])
		s.boxes[f[1]].snapshots = append(s.boxes[f[1]].snapshots, *s.boxes[f[1]].copy())
	case "rollback":
		s.rollback(s.boxes[f[1]], f[1])
	case "discard":
		s.discard(s.boxes[f[1]], f[1], f[2])
	case "rm":
		s.fb("rm", "-f", f[1])
		delete(s.boxes, f[1])
	case "stop":
		s.fb("stop", f[1])
	case "diff": // which keeps what the box's changes were made to
		s.fb("diff", f[1])
	case "gc":
		s.fb("gc")
	case "kill":
		kill(s.T, s.home)
	case "sync":
		s.sync(s.boxes[f[1]], f[1])
	case "apply", "undo":
		s.land(f, (*exec.Cmd).Run, landTry{})
		s.rest(f[1])
	case "killed":
		s.landKilled(f[1], f[2:])
		s.rest("")
	case "dies":
		if f[2] == "sync" {
			s.syncDying(f[1], f[3])
			break
		}
		s.landDying(f[1], f[2:])
		s.rest("")
	case "during":
		s.landEdited(f[1], f[2:])
		s.rest("")
	default:
		s.Fatalf("there is no step %q", f)
	}
}

func (s *soak) adopt(name string, box *soakBox, args ...string) {
	s.fb(args...)
	s.born++
	s.landWorld.boxes = append(s.landWorld.boxes, name)
	s.boxes[name] = box
}

func (s *soak) editReality(f []string) {
	s.linked = s.linked || f[0] == "link"
	before := s.real.lines()
	s.sh(s.ws, edits[f[0]], f[1:]...)
	now, err := viewOf(s.ws)
	s.ok(err)
	s.forget(before.without(now.lines()))
	s.rest("")
}

// forget notes what reality itself deleted. A box that had landed it may have
// been shown reality's by a sync since, under another name, and then has no other.
func (s *soak) forget(gone lines) {
	s.forgotten.add(gone)
	for _, box := range s.boxes {
		box.own.drop(gone.without(gone.without(box.synced)))
	}
}

// rest stops the boxes, but for one: overlayfs remembers what it has looked at,
// and may show what reality moved under both names until it is mounted again.
func (s *soak) rest(but string) {
	for name := range s.boxes {
		if name != but {
			s.stop(name)
		}
	}
}

func (s *soak) editBox(name string, f []string) {
	s.linked = s.linked || f[0] == "link"
	box := s.boxes[name]
	before, now := box.view, s.edit(name, f)
	if now == nil {
		s.fb("stop", name) // see checkOwn
		before = s.look(name)
		s.in(name, append([]string{"sh", "-c", edits[f[0]], "sh"}, f[1:]...)...)
		now = s.look(name)
	}
	for _, p := range differing(before, now) {
		box.touched[p] = true
		if !s.linked && !slices.ContainsFunc(f[1:], func(arg string) bool { return related(arg, p) }) {
			s.Errorf("%q in %s changed %s as well, from %q to %q", f, name, p, before[p], now[p])
		}
	}
	if f[0] == "chmod" || f[0] == "link" {
		box.touched[f[1]] = true // with no difference in the view
	}
	box.view = now
	if f[0] == "rm" || f[0] == "renew" {
		s.giveUp(box, before, f[1])
	}
	box.own.add(now.lines().without(before.lines()))
	box.own.keep(now.lines())
	box.removed.add(before.lines().without(now.lines()))
	box.removed.drop(now.lines())
}

// edit returns what the box shows then; nil where its mounts are stale.
func (s *soak) edit(name string, f []string) view {
	s.Helper()
	out, code := s.editAndShow(name, edits[f[0]], f[1:]...)
	switch {
	case code == 0:
		now, err := parseView(string(out))
		s.ok(err)
		return now
	case code == editFailed && !strings.Contains(string(out), "Stale file handle"):
		s.Fatalf("%q in %s: %s", f, name, out)
	case code == editFailed:
		return nil
	case code == -1:
		s.Fatalf("%q in %s: the daemon has not done it\n%s", f, name, s.log())
	}
	return s.look(name)
}

// giveUp notes that a box gave up what it showed at a path: what still shows of it
// may be reality's.
func (s *soak) giveUp(box *soakBox, before view, path string) {
	given := before.at([]string{path})
	box.own.drop(given.without(given.without(s.real.lines())))
}

func (s *soak) rollback(box *soakBox, name string) {
	s.fb("rollback", "-f", name)
	last := box.snapshots[len(box.snapshots)-1].copy()
	last.removed.add(box.own.without(last.own)) // which may have landed: then its next apply takes it away
	box.own, box.removed, box.touched = last.own, last.removed, last.touched
}

func (s *soak) discard(box *soakBox, name, path string) {
	if _, refused := s.try("discard", "--yes", name, path); refused != nil {
		return
	}
	now := s.look(name)
	box.own.keep(now.lines())
	s.giveUp(box, box.view, path)
	box.removed.add(box.view.lines().without(now.lines()))
	box.removed.drop(now.lines())
}

// sync brings everything of reality into a box, unless the box deleted it or
// it is named.
func (s *soak) sync(box *soakBox, name string) {
	before := s.real
	cmd := s.command("sync", "--json", name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	s.same(before, "sync")
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		s.T.Errorf("sync %s: %v: %s", name, err, &out)
		return
	}
	now := s.look(name)
	box.own.drop(s.forgotten.without(now.lines())) // reality deleted what had landed
	for _, r := range s.receipts {
		if r.box != name {
			box.own.drop(r.removed.without(now.lines())) // or another box did
		}
	}
	conflicts := s.inConflict(err, out.Bytes())
	box.undecided, box.synced = len(conflicts) > 0, s.real.lines()
	if box.undecided {
		box.told = s.real.lines()
	}
	for rel, item := range conflicts {
		box.own.drop(s.real.at([]string{rel}).without(now.lines())) // it landed, and is where reality moved it
		s.doubtSync(box, name, item, rel)
	}
	if !box.undecided {
		if missed := s.real.lines().without(now.lines(), box.removed, box.told); len(missed) > 0 {
			s.Errorf("sync %s: it succeeded and these lines of reality are not in the box: %s\n%s", name, missed, &out)
		}
		box.base = s.real
	}
}

// inConflict are the paths of the workspace that a sync names. Without root it may
// name others: directories in which tests beside this one mount something.
func (s *soak) inConflict(refused error, out []byte) map[string]forkbox.Caution {
	all := map[string]forkbox.Caution{}
	if refused == nil {
		return all
	}
	var result forkbox.SyncResult
	s.ok(json.Unmarshal(out, &result))
	for _, item := range append(result.Conflicts, result.Unseen...) {
		rel, err := filepath.Rel(s.ws, item.Path)
		if s.ok(err); !strings.HasPrefix(rel, "../") {
			all[rel] = item
		}
	}
	return all
}

// doubtSync counts a conflict that a sync names where the box did nothing since it
// landed, or was synced, to what it names.
func (s *soak) doubtSync(box *soakBox, name string, item forkbox.Caution, rel string) {
	if s.edited || slices.ContainsFunc(slices.Collect(maps.Keys(box.touched)), func(p string) bool { return related(p, rel) }) {
		return
	}
	s.needless++
	s.Logf("in conflict without one: sync %s: %v\n%s", name, item, strings.Join(s.history, "\n"))
}

// same expects reality not to have changed.
func (s *soak) same(before view, what string) {
	s.Helper()
	now, err := viewOf(s.ws)
	s.ok(err)
	if diff := differing(before, now); len(diff) > 0 {
		s.Errorf("%s was refused, or is not to change reality, and these are different: %q", what, diff)
	}
}
