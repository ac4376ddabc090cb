//go:build linux

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// TestSnapshotsAgreeWithAModel does random things to boxes: edits, snapshots,
// rollbacks, forks, templates, removals; and kills the daemon in the middle of
// some. A map in memory says what each box, snapshot and template has to show.
// What was interrupted has happened or not, and nothing in between. Reality is
// never touched (promise 1).
func TestSnapshotsAgreeWithAModel(t *testing.T) {
	t.Parallel()
	for i, seed := range seeds(t, 3) {
		store := []string{"overlay", "overlay", "copy"}[i%3]
		if os.Getenv("FORKBOX_LAYERS") != "" {
			store = os.Getenv("FORKBOX_LAYERS")
		}
		t.Run(fmt.Sprintf("seed=%d/%s", seed, store), func(t *testing.T) {
			m := newModelled(t, seed, store)
			defer func() {
				if t.Failed() {
					t.Logf("repeat with %s==%d FORKBOX_LAYERS=%s; it did:\n%s", seedsVar, seed, store, m.story())
				}
			}()
			m.live(snapSteps(50))
		})
	}
}

// snapSteps is how many things are done.
func snapSteps(byDefault int) int {
	if n, err := strconv.Atoi(os.Getenv("FORKBOX_TEST_STEPS")); err == nil {
		return n
	}
	return byDefault
}

// modelled is a world of boxes and what they have to be.
type modelled struct {
	*snapWorld
	rng       *rand.Rand
	reality   model
	before    tree
	boxes     map[string]*modelledBox
	templates map[string]model
	count     int // of names given
	did       []string
	took      map[string]time.Duration // by verb, the last time
	killed    map[string]int
}

type modelledBox struct {
	now   model
	snaps map[string]model
	busy  bool // something runs in it
}

func newModelled(t *testing.T, seed uint64, store string) *modelled {
	m := &modelled{
		snapWorld: newSnapWorld(t, store), rng: rand.New(rand.NewPCG(seed, 2)),
		boxes: map[string]*modelledBox{}, templates: map[string]model{},
		took: map[string]time.Duration{}, killed: map[string]int{},
	}
	m.furnish()
	var err error
	m.reality, err = survey(m.root)
	m.ok(err)
	m.before, err = look(m.root)
	m.ok(err)
	return m
}

// furnish puts into reality what boxes change: an empty directory that they
// work in, and one with files.
func (m *modelled) furnish() {
	m.ok(os.Mkdir(filepath.Join(m.root, "work"), 0o755))
	for i := range 3 {
		for j := range 3 {
			dir := filepath.Join(m.root, "there", fmt.Sprint("d", i), fmt.Sprint("e", j))
			m.ok(os.MkdirAll(dir, 0o755))
			for k := range 2 {
				file := filepath.Join(dir, fmt.Sprint("f", k))
				m.ok(os.WriteFile(file, []byte(file), 0o644))
				m.ok(os.Chtimes(file, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_000, 0)))
			}
		}
	}
	m.ok(os.Symlink("d0/e0/f0", filepath.Join(m.root, "there", "link")))
}

// story is what was done, to find out what went wrong.
func (m *modelled) story() (text string) {
	for i, line := range m.did {
		text += fmt.Sprintf("%3d %s\n", i+1, line)
	}
	return text
}

func (m *modelled) say(format string, args ...any) {
	m.did = append(m.did, fmt.Sprintf(format, args...))
}

// live does things and looks at what came of them.
func (m *modelled) live(steps int) {
	m.fresh()
	for n := range steps {
		m.step()
		if n%8 == 7 {
			m.realityIsUntouched()
			m.agreesWithDiff(m.anyBox())
			m.snapshotAgrees()
		}
	}
	m.everythingAgrees()
	m.onlyNamedLayers("at the end")
	m.Logf("killed during %v", m.killed)
	m.clearAway()
}

// verbs are what a step may be; several of a kind make it more likely.
var verbs = []func(*modelled){
	(*modelled).edits, (*modelled).edits, (*modelled).edits, (*modelled).edits, (*modelled).edits, (*modelled).edits,
	(*modelled).snapshot, (*modelled).snapshot, (*modelled).snapshot, (*modelled).snapshot,
	(*modelled).rollback, (*modelled).rollback, (*modelled).rollback,
	(*modelled).fork, (*modelled).fork, (*modelled).newFrom,
	(*modelled).removeSnapshot, (*modelled).removeSnapshot, (*modelled).removeBox,
	(*modelled).template, (*modelled).template, (*modelled).busyOrNot, (*modelled).deepen,
}

func (m *modelled) step() {
	m.Helper()
	if len(m.boxes) == 0 {
		m.fresh()
	}
	verbs[m.rng.IntN(len(verbs))](m)
}

func (m *modelled) name(prefix string) string {
	m.count++
	return fmt.Sprint(prefix, m.count)
}

func (m *modelled) anyBox() string {
	names := slices.Sorted(maps.Keys(m.boxes))
	return names[m.rng.IntN(len(names))]
}

// anySnapshot is one of a box, "" if it has none.
func (m *modelled) anySnapshot(box string) string {
	more := m.forget(box)
	names := slices.Sorted(maps.Keys(m.boxes[box].snaps))
	names = slices.DeleteFunc(names, func(name string) bool { return more[kind(name)] })
	if len(names) == 0 {
		return ""
	}
	return names[m.rng.IntN(len(names))]
}

func (m *modelled) fresh() {
	name := m.name("box-")
	m.say("new %s", name)
	m.create(name)
	m.adopt(name, m.reality)
}

// adopt is a box that has come into being.
func (m *modelled) adopt(name string, shows model) {
	m.boxes[name] = &modelledBox{now: maps.Clone(shows), snaps: map[string]model{}}
}

// during does something that the daemon may be killed at. It says whether it
// was. Without that it must succeed, unless it fails as it may.
func (m *modelled) during(verb string, do func() error, may ...forkbox.Code) (failed, killed bool) {
	m.Helper()
	if m.rng.IntN(4) == 0 {
		err := m.interrupted(verb, do)
		m.did[len(m.did)-1] += fmt.Sprintf(" (killed: %v)", err)
		return err != nil, true
	}
	start := time.Now()
	err := do()
	m.took[verb] = time.Since(start)
	if err != nil && !slices.Contains(may, forkbox.CodeOf(err)) {
		m.Fatalf("%s: %v\n%s", m.did[len(m.did)-1], err, m.log())
	}
	if err != nil {
		m.did[len(m.did)-1] += fmt.Sprintf(" (refused: %v)", err)
	}
	return err != nil, false
}

func (m *modelled) interrupted(verb string, do func() error) error {
	m.Helper()
	result := make(chan error, 1)
	go func() { result <- do() }()
	usual := max(m.took[verb], 5*time.Millisecond)
	time.Sleep(time.Duration(m.rng.Int64N(int64(usual * 5 / 4)))) // any moment is right
	m.kill()
	err := <-result
	m.serve()
	m.killed[verb]++
	return err
}
