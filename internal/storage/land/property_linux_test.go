package land

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// chaos makes random trees and random items for them.
type chaos struct {
	*rand.Rand
	w     *world
	items []Item
	fresh int
}

var oddNames = []string{"a", "b\nc", "\xff", " ", "a-b", ".x", "ü", "c:d,e", "[*]"}

// grow makes something random at p.
func (c *chaos) grow(p string, depth int) {
	w, at := c.w, c.w.at(p)
	switch n := c.IntN(10); {
	case n < 4 && depth > 0 || depth == 3:
		w.must(os.MkdirAll(at, 0o755))
		for _, name := range oddNames[:c.IntN(len(oddNames))] {
			c.grow(path.Join(p, name), depth-1)
		}
		w.must(os.Chmod(at, []fs.FileMode{0o755, 0o700, 0o750}[c.IntN(3)]))
	case n == 8:
		w.must(os.Symlink("some/"+oddNames[c.IntN(len(oddNames))], at))
	case n == 9:
		w.must(unix.Mkfifo(at, 0o600))
	default:
		w.must(os.WriteFile(at, []byte(fmt.Sprint("old ", c.Int())), 0o644))
		if c.IntN(4) == 0 {
			w.must(os.Link(at, w.root+fmt.Sprint("/link", c.fresh)))
			c.fresh++
		}
		if c.IntN(4) == 0 {
			w.must(unix.Setxattr(at, "user.x", []byte("old"), 0))
		}
	}
}

// mutate makes items for what is at p, which was at from before, and below it.
func (c *chaos) mutate(p, from string) {
	info, err := os.Lstat(c.w.at(from))
	c.w.must(err)
	seen := c.w.seen(from)
	switch n := c.IntN(12); {
	case n == 0 && p != "/":
		c.items = append(c.items, Item{Path: p, Op: Remove, Expect: seen})
	case n == 1 && p != "/":
		c.put(p, 2)
		c.items[slices.IndexFunc(c.items, func(it Item) bool { return it.Path == p && it.Op == Put })].Expect = seen
	case n == 2 && info.Mode()&fs.ModeSymlink == 0:
		c.items = append(c.items, c.attr(p, info, seen))
		if info.IsDir() {
			c.below(p, from)
		}
	case info.IsDir():
		c.below(p, from)
	}
}

func (c *chaos) attr(p string, info fs.FileInfo, seen *forkbox.Identity) Item {
	it := Item{Path: p, Op: Attr, Node: c.w.node(info.Mode().Type() | []fs.FileMode{0o700, 0o711}[c.IntN(2)]), Expect: seen}
	it.Node.ModTime = time.Time{}
	return it
}

// below does so for what a directory has, and adds to it.
func (c *chaos) below(p, from string) {
	names, err := os.ReadDir(c.w.at(from))
	c.w.must(err)
	for _, e := range names {
		if !c.moved(path.Join(from, e.Name())) {
			c.mutate(path.Join(p, e.Name()), path.Join(from, e.Name()))
		}
	}
	if c.IntN(3) == 0 {
		c.put(path.Join(p, c.name()), 2)
	}
}

func (c *chaos) name() string { c.fresh++; return fmt.Sprint("new", c.fresh) }

func (c *chaos) moved(from string) bool {
	return slices.ContainsFunc(c.items, func(it Item) bool { return it.Op == Move && it.From == from })
}

// put makes items for something new.
func (c *chaos) put(p string, depth int) {
	it := Item{Path: p, Op: Put, Node: c.w.node(0o640)}
	switch n := c.IntN(8); {
	case n < 3 && depth > 0:
		it.Node.Mode = fs.ModeDir | []fs.FileMode{0o755, 0o711}[c.IntN(2)]
		c.items = append(c.items, it)
		for _, name := range oddNames[:c.IntN(4)] {
			c.put(path.Join(p, name), depth-1)
		}
		return
	case n == 3:
		it.Node.Mode, it.Node.Target = fs.ModeSymlink|0o777, "to/"+oddNames[c.IntN(len(oddNames))]
	case n == 4:
		it.Node.Mode = fs.ModeNamedPipe | 0o620
	default:
		it.Bytes = []byte(fmt.Sprint("new ", c.Int()))
		it.Node.Xattrs = map[string][]byte{"user.y": []byte("new")}
	}
	c.items = append(c.items, it)
}

// plan makes a whole landing: some directories move, swap even, and things
// change everywhere.
func (c *chaos) plan() {
	var dirs []string
	filepath.WalkDir(c.w.root, func(p string, d fs.DirEntry, err error) error {
		if rel := "/" + d.Name(); d.IsDir() && filepath.Dir(p) == c.w.root && c.IntN(2) == 0 {
			dirs = append(dirs, rel)
		}
		return nil
	})
	targets := slices.Clone(dirs)
	c.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for i, from := range dirs {
		if targets[i] == from {
			targets[i] = "/moved-" + c.name()
		}
		c.items = append(c.items, Item{Path: targets[i], Op: Move, From: from, Expect: c.w.seen(from)})
	}
	for _, it := range slices.Clone(c.items) {
		c.below(it.Path, it.From)
	}
	c.below("/", "/")
	slices.SortStableFunc(c.items, func(a, b Item) int { return forkbox.ComparePaths(a.Path, b.Path) })
}

// plainly does the items the way one would without caring: the oracle.
func (w *world) plainly(items []Item) {
	w.Helper()
	aside := w.store + "-aside"
	w.must(os.MkdirAll(aside, 0o755))
	for i, it := range items {
		if it.Op == Move {
			w.must(os.Rename(w.at(it.From), filepath.Join(aside, fmt.Sprint(i))))
		}
	}
	for i, it := range items {
		at := w.at(it.Path)
		switch it.Op {
		case Move:
			w.must(os.Rename(filepath.Join(aside, fmt.Sprint(i)), at))
		case Remove:
			w.must(os.RemoveAll(at))
		case Put:
			w.must(os.RemoveAll(at))
			w.putPlainly(at, it)
		case Attr:
			w.attrPlainly(at, it)
		}
	}
}

func (w *world) putPlainly(at string, it Item) {
	w.Helper()
	switch it.Node.Mode.Type() {
	case fs.ModeDir:
		w.must(os.Mkdir(at, 0o755))
		w.must(os.Chmod(at, it.Node.Mode.Perm()))
		return
	case fs.ModeSymlink:
		w.must(os.Symlink(it.Node.Target, at))
	case fs.ModeNamedPipe:
		w.must(unix.Mkfifo(at, 0o600))
		w.must(os.Chmod(at, it.Node.Mode.Perm()))
	default:
		w.must(os.WriteFile(at, it.Bytes, 0o600))
		w.must(os.Chmod(at, it.Node.Mode.Perm()))
	}
	for name, value := range it.Node.Xattrs {
		w.must(unix.Setxattr(at, name, value, 0))
	}
	mtime, _ := unix.TimeToTimespec(it.Node.ModTime)
	w.must(unix.UtimesNanoAt(unix.AT_FDCWD, at, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}, unix.AT_SYMLINK_NOFOLLOW))
}

func (w *world) attrPlainly(at string, it Item) {
	w.Helper()
	info, err := os.Lstat(at)
	w.must(err)
	if info.Mode().IsRegular() { // this name alone
		text, err := os.ReadFile(at)
		w.must(err)
		w.must(os.Remove(at))
		w.must(os.WriteFile(at, text, 0o600))
		w.must(os.Chtimes(at, time.Time{}, info.ModTime()))
	}
	w.must(os.Chmod(at, it.Node.Mode.Perm()))
}

// grown makes a random tree; the same seed makes the same one.
func grown(t *testing.T, dir string, seed uint64) *chaos {
	w := newWorld(t, dir)
	c := &chaos{Rand: rand.New(rand.NewPCG(seed, 1)), w: w}
	c.grow("/", 3)
	for _, name := range oddNames[:4] {
		if _, err := os.Lstat(w.at("/" + name)); err != nil {
			c.grow("/"+name, 3)
		}
	}
	w.must(os.Chmod(w.root, 0o755))
	// The trees are made one after the other.
	filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{{Sec: 1}, {Sec: 1_500_000_000}}, unix.AT_SYMLINK_NOFOLLOW)
	})
	return c
}

// TestPromise2RandomLandings: whatever lands is what was asked for, whatever
// is undone is what was there, with a crash somewhere in both.
func TestPromise2RandomLandings(t *testing.T) {
	randomLandings(t, 100, func(t *testing.T, dir string, seed uint64) *chaos { return grown(t, dir, seed) })
}

// TestOverlayRandomLandings: the same where directories cannot be renamed.
func TestOverlayRandomLandings(t *testing.T) {
	needRoot(t, "mounts an overlay")
	randomLandings(t, 50, func(t *testing.T, dir string, seed uint64) *chaos {
		c := grown(t, filepath.Join(t.TempDir(), "lower"), seed)
		c.w = overlayOn(t, c.w.root, dir, overlayOptions[0])
		return c
	})
}

func randomLandings(t *testing.T, count uint64, grow func(*testing.T, string, uint64) *chaos) {
	randomRounds(t, count, func(t *testing.T, seed uint64) { randomLanding(t, seed, grow) })
}

func randomLanding(t *testing.T, seed uint64, grow func(*testing.T, string, uint64) *chaos) {
	dir := quickDir(t)
	c, twin := grow(t, filepath.Join(dir, "a"), seed), grown(t, filepath.Join(dir, "b"), seed)
	w := c.w
	twin.w.overlay = w.overlay
	before := w.snap()
	w.same("twin", twin.w.snap())
	c.plan()
	twin.w.plainly(c.items)
	after := twin.w.snap()
	for try := 0; ; try++ {
		n := 1 + c.IntN(60*(try+1))
		if !crashAt(n, func() { w.must(w.tryLand(c.items)) }) {
			break
		}
		if o := w.recover(); o.State == After {
			break
		} else if o.State != Before {
			c.tell(n)
			t.Fatalf("%q", o)
		}
		w.same("recovered", before)
		w.noTrace("recovered")
		c.lookAgain()
	}
	w.same("landed", after)
	for try := 0; ; try++ {
		n := 1 + c.IntN(60*(try+1))
		if !crashAt(n, func() { w.must(w.undo()) }) {
			break
		}
		if o := w.recover(); o.State == Undone {
			break
		} else if o.State != After {
			c.tell(n)
			t.Fatalf("%q", o)
		}
		w.same("landed again", after)
	}
	w.same("undone", before)
	w.must(Expire(t.Context(), w.cfg()))
	w.must(os.RemoveAll(w.cfg().Dir))
}

// tell says what was to land.
func (c *chaos) tell(n int) {
	for i, it := range c.items {
		c.w.Logf("%d %s %q from %q %v", i+1, it.Op, it.Path, it.From, it.Node.Mode)
	}
	c.w.Logf("crash at step %d", n)
}

// lookAgain is what a caller does after a landing that did not come about:
// the renames to and fro have changed the inodes' times.
func (c *chaos) lookAgain() {
	var moves []Item
	for i, it := range c.items {
		at := it.Path
		for _, m := range moves {
			if it.Op != Move && (at == m.Path || len(at) > len(m.Path) && at[:len(m.Path)+1] == m.Path+"/") {
				at = rebase(at, m.Path, m.From)
				break
			}
		}
		if it.Op == Move {
			moves = append(moves, it)
			at = it.From
		}
		if it.Expect != nil {
			c.items[i].Expect = c.w.seen(at)
		}
	}
}

// TestPromise4RandomEditor: an editor works in the tree beside every landing, undo
// and recovery, with crashes in all of them, and no line is ever lost. More
// rounds with LAND_ROUNDS, one again with LAND_SEED.
func TestPromise4RandomEditor(t *testing.T) {
	rounds, first := uint64(150), uint64(1) // the same ones each time
	if text := os.Getenv("LAND_ROUNDS"); text != "" {
		fmt.Sscan(text, &rounds)
		first = rand.Uint64N(1 << 32)
	}
	states := map[string]int{}
	roundsFrom(t, first, rounds, func(t *testing.T, seed uint64) { editedLanding(t, seed, states) })
	t.Log(states)
	for _, want := range []string{"landed", "refused", "undone", "undo refused", "torn"} {
		if states[want] == 0 && os.Getenv("LAND_SEED") == "" {
			t.Errorf("none was %s: %v", want, states)
		}
	}
}

func randomRounds(t *testing.T, count uint64, round func(*testing.T, uint64)) {
	roundsFrom(t, 1, count, round) // the same ones each time
}

func roundsFrom(t *testing.T, first, count uint64, round func(*testing.T, uint64)) {
	if text := os.Getenv("LAND_SEED"); text != "" {
		fmt.Sscan(text, &first)
		count = 1
	}
	for seed := first; seed < first+count; seed++ {
		ok := t.Run(fmt.Sprint("seed-", seed), func(t *testing.T) { round(t, seed) })
		if !ok {
			t.Fatalf("again with LAND_SEED=%d", seed)
		}
	}
}

func editedLanding(t *testing.T, seed uint64, states map[string]int) {
	c := grown(t, quickDir(t), seed)
	e := newEditor(c.w, c.Rand)
	for range 4 {
		c.items = nil
		c.plan()
		c.weigh()
		if state := e.land(c.items); state != "landed" {
			states[state]++
			if state == "torn" {
				return
			}
			continue
		}
		states["landed"]++
		for range 3 {
			state := e.undo()
			states[state]++
			if state != "undo refused" {
				return
			}
		}
		return
	}
}

// weigh has the items say what is in the directories that go.
func (c *chaos) weigh() {
	for i := range c.items {
		it := &c.items[i]
		if it.Expect == nil || it.Op != Put && it.Op != Remove {
			continue
		}
		at := c.w.at(c.from(it.Path))
		it.Below = &Tally{}
		filepath.WalkDir(at, func(p string, d fs.DirEntry, err error) error {
			c.w.must(err)
			if c.moved(strings.TrimPrefix(p, c.w.root)) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if p != at {
				var st unix.Stat_t
				c.w.must(unix.Lstat(p, &st))
				it.Below.Add(strings.TrimPrefix(p, at+"/"), files.Describe(&st).Node())
			}
			return nil
		})
	}
}

// from is where what will be at p is before the landing.
func (c *chaos) from(p string) string {
	for _, m := range c.items {
		if m.Op == Move && forkbox.Within(p, m.Path) {
			return rebase(p, m.Path, m.From)
		}
	}
	return p
}

// land lands beside the editor, and crashes or not.
func (e *editor) land(items []Item) string {
	e.reviewed()
	seen := e.inReality()
	var err error
	crashed := e.mayCrash(func() { err = e.w.tryTelling(items, e) })
	if crashed {
		return e.recovered("landing", seen, map[State]string{Before: "refused", After: "landed"})
	}
	if err == nil || !strings.Contains(err.Error(), "at the next start") {
		e.check("landing", seen, saying(err, nil))
	}
	if err != nil {
		return e.recovered("refused", seen, map[State]string{Before: "refused"})
	}
	e.own("landed")
	return "landed"
}

// tryTelling is tryLand, and tells the editor what was put back.
func (w *world) tryTelling(items []Item, e *editor) error {
	w.landings++
	cfg := w.cfg()
	cfg.PutBack = func(x Entry) { e.none("put back "+x.Path, x.Now) }
	l, err := Begin(w.Context(), cfg)
	if err != nil {
		return err
	}
	defer l.site.close()
	for _, it := range items {
		if _, err := l.Stage(w.Context(), it); err != nil {
			return besides(err, l.Abort())
		}
	}
	return l.Commit(w.Context())
}

// own checks that nothing that the editor did passes for the landing's doing.
func (e *editor) own(what string) {
	e.w.must(Entries(e.w.cfg().Dir, func(x Entry) error {
		e.none(what+" "+x.Path, x.Now)
		e.none(what+" kept "+x.Path, x.Kept)
		return nil
	}))
}

// mayCrash runs f beside the editor and says whether it crashed.
func (e *editor) mayCrash(f func()) (crashed bool) {
	n := 1 << 30
	if e.IntN(2) == 0 {
		n = 1 + e.IntN(150)
	}
	return crashAt(n, func() { e.beside(e.IntN(5), f) })
}

// recovered recovers, with edits before and beside it, until it is decided.
func (e *editor) recovered(what string, seen map[string]bool, names map[State]string) string {
	if e.IntN(2) == 0 {
		for range e.IntN(4) {
			e.edit()
		}
	}
	var o Outcome
	var err error
	cfg := e.w.cfg()
	cfg.PutBack = func(x Entry) { e.none("put back "+x.Path, x.Now) }
	for range 10 {
		if !e.mayCrash(func() { o, err = Recover(e.w.Context(), cfg) }) {
			break
		}
		o, err = Outcome{}, errors.New("crashed")
	}
	if err != nil { // too many crashes, or an edit at a bad moment
		o, err = Recover(e.w.Context(), cfg)
	}
	e.w.must(err)
	e.check(what+", recovered", seen, saying(nil, o.Torn))
	if o.State == Torn {
		return "torn"
	}
	if o.State != Before {
		e.own(what + ", recovered")
	}
	if names[o.State] == "" {
		e.fail("%s: %v", what, o)
	}
	return names[o.State]
}

// undo undoes beside the editor. What it takes back is in the receipt.
func (e *editor) undo() string {
	e.reviewed()
	seen := map[string]bool{}
	for line := range e.w.linesIn(e.w.store, false) {
		seen[line] = true // and may be there again
	}
	var err error
	if e.mayCrash(func() { err = e.w.undo() }) {
		return e.recovered("undo", seen, map[State]string{After: "undo refused", Undone: "undone"})
	}
	if err == nil || !strings.Contains(err.Error(), "at the next start") {
		e.check("undo", seen, saying(err, nil))
	}
	if err != nil {
		return e.recovered("undo refused", seen, map[State]string{After: "undo refused"})
	}
	e.own("undone")
	return "undone"
}
