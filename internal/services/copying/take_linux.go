package copying

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
)

const opTake = "copy the service's data"

// Source is one service whose data is copied.
type Source struct {
	Name     string
	PID      int   // the process that the others of the service come from; 0: nothing runs, nothing is frozen
	Others   []int // processes of no service that write to its data: they stand still as well
	UID, GID int
	Paths    []string // absolute real paths: files and directories
	Online   *Online  // the engine's own way to copy without a pause, nil if it has none
	Way      string   // "": that of the options
	// Drop are names relative to a directory of Paths that the copy must not have
	// (postmaster.pid), as patterns of path.Match.
	Drop []string
	// Watchdog is how long its manager lets it be silent before it ends it; 0: for
	// ever. It is stopped for less than half of that.
	Watchdog time.Duration
	// Durable says that the engine syncs what it depends on: it starts from what a
	// power failure leaves.
	Durable bool
}

// Online is a command that writes a consistent copy to its standard output while
// the service goes on.
type Online struct {
	Argv []string // run as UID/GID with a minimal environment
	// Gives is "tar", which is unpacked into Paths[0]; or the name of a file, which
	// is Paths[0] if that is called so, and else in it.
	Gives string
	// Memory says that the files of the service are older than what it has in
	// memory, so that this way is the best, and the others are for when it fails.
	Memory bool
}

// Options say how data is copied, and where to.
type Options struct {
	Put      func(path string) (string, error) // where the copy of a path goes; its parent exists then, and it does not
	MaxPause time.Duration                     // a service is never stopped longer; 0: never stopped at all
	Way      string                            // "" chooses
	// Progress may be nil. It is quick: it is called also while services stand still.
	Progress func(done, total int64)
}

// The ways, best first.
const (
	Snapshot = "snapshot"
	Reflink  = "reflink"
	Engine   = "online"
	Delta    = "delta"
	Plain    = "plain"
)

// Taken is what was copied.
type Taken struct {
	Way    string
	Paused time.Duration // as the process measured it that held the freeze
	Bytes  int64
	Of     map[string]Part // by path that was put somewhere
	Files  int
	At     time.Time // the moment that the copy is of; online: not before it
	Note   string    // why it is not by a better way, if that was tried

	of map[string]int64 // bytes
}

// Part is how one of several was copied.
type Part struct {
	Way    string
	Paused time.Duration
	Bytes  int64
}

// item is a path with where its copy goes, and what it must not have.
type item struct {
	from, to string
	drop     []string
}

// taking is one copy while it is made.
type taking struct {
	Options
	sources []Source
	items   []item
	roots   freezer.Stopped // of the services that run
	taken   Taken
	watched string // the service whose watchdog bounds the pause, if one does
}

// unfit is why a way is not possible here, so that the next is tried.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

func isUnfit(err error) bool {
	var u unfit
	return errors.As(err, &u)
}

// Take copies the data of services as it is at one moment. After an error there is
// no copy.
//
// A service whose files are older than its memory cannot be part of that moment, as
// it has to run to tell what it has: each of those is copied by itself, after the
// others.
func Take(ctx context.Context, sources []Source, o Options) (Taken, error) {
	all := Taken{Of: map[string]Part{}}
	var done []*taking
	for _, together := range moments(sources) {
		o := o
		if together[0].Way != "" {
			o.Way = together[0].Way
		}
		t, err := begin(together, o)
		if err == nil {
			err = t.take(ctx)
		}
		if err != nil {
			for _, t := range done {
				err = errors.Join(err, t.discard())
			}
			return Taken{}, final(err)
		}
		done = append(done, t)
		all.add(t.taken)
	}
	return all, nil
}

// moments are the services that are copied as of one moment, and those that are by
// themselves: what is only in memory, and what is wanted by another way.
func moments(sources []Source) (all [][]Source) {
	var alone [][]Source
	for _, s := range sources {
		i := slices.IndexFunc(all, func(others []Source) bool { return others[0].Way == s.Way })
		switch {
		case s.PID != 0 && s.Online != nil && s.Online.Memory:
			alone = append(alone, []Source{s})
		case i < 0:
			all = append(all, []Source{s})
		default:
			all[i] = append(all[i], s)
		}
	}
	return append(all, alone...)
}

// add counts what was copied by itself with what was before.
func (a *Taken) add(b Taken) {
	if a.Way == "" {
		a.Way, a.Paused, a.At, a.Note = b.Way, b.Paused, b.At, b.Note
	}
	a.Bytes += b.Bytes
	a.Files += b.Files
	for path, bytes := range b.of {
		a.Of[path] = Part{b.Way, b.Paused, bytes}
	}
}

func (t *taking) take(ctx context.Context) error {
	ways, err := t.ways()
	if err != nil {
		return err
	}
	var errs []error
	for _, way := range ways {
		err := t.by(ctx, way)
		if err == nil {
			t.taken.Way, t.taken.Note = way, notes(errs)
			return nil
		}
		errs = append(errs, err)
		if err := t.discard(); err != nil {
			return forkbox.Wrap(opTake, err)
		}
		if !isUnfit(err) || ctx.Err() != nil {
			break
		}
	}
	return final(errs[len(errs)-1])
}

// final is an error without what it was wrapped in on the way.
func final(err error) error {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return e
	}
	return forkbox.Wrap(opTake, err)
}

func notes(errs []error) string {
	var all []string
	for _, err := range errs {
		all = append(all, Why(err))
	}
	return strings.Join(all, "; ")
}

// Why is the reason alone, without what could not be done for it.
func Why(err error) string {
	var e *forkbox.Error
	if errors.As(err, &e) {
		return e.Why
	}
	return err.Error()
}

// begin finds out where all goes. What lies in another path is copied with it.
func begin(sources []Source, o Options) (*taking, error) {
	t := &taking{Options: o, sources: sources}
	var err error
	if t.roots, err = rootsOf(sources); err != nil {
		return nil, err
	}
	t.heed()
	t.items = itemsOf(sources)
	for i := range t.items {
		it := &t.items[i]
		if it.to, err = o.Put(it.from); err != nil {
			return nil, err
		}
		if _, err := os.Lstat(it.to); !errors.Is(err, fs.ErrNotExist) {
			return nil, forkbox.Errorf(forkbox.Exists, opTake, "there is something at %s already", it.to)
		}
	}
	return t, nil
}

// heed keeps a pause below half of what a watchdog allows: systemd ends what it
// takes to hang, and does not know that it is stopped.
func (t *taking) heed() {
	for _, s := range t.sources {
		if most := s.Watchdog / 2; s.PID != 0 && s.Watchdog > 0 && most <= t.MaxPause {
			t.MaxPause, t.watched = most-time.Microsecond, s.Name
		}
	}
}

// itemsOf are the paths of sources that lie in no other.
func itemsOf(sources []Source) []item {
	var all []string
	for _, s := range sources {
		for _, path := range s.Paths {
			all = append(all, filepath.Clean(path))
		}
	}
	slices.Sort(all)
	var items []item
	for _, path := range slices.Compact(all) {
		if at := above(items, path); at < 0 {
			items = append(items, item{from: path})
		}
	}
	for _, s := range sources {
		for _, path := range s.Paths {
			it := &items[above(items, filepath.Clean(path))]
			rel, _ := filepath.Rel(it.from, path)
			for _, name := range s.Drop {
				it.drop = append(it.drop, filepath.Join(rel, name))
			}
		}
	}
	return items
}

// above finds the item that a path lies in, -1 if none.
func above(items []item, path string) int {
	return slices.IndexFunc(items, func(it item) bool { return forkbox.Within(path, it.from) })
}

// ways are those that may work, best first.
func (t *taking) ways() ([]string, error) {
	if t.Way != "" {
		return []string{t.Way}, t.possible()
	}
	if len(t.roots) == 0 {
		return []string{Plain}, nil
	}
	var ways []string
	if t.snapable() == nil {
		ways = append(ways, Snapshot)
	}
	if t.MaxPause > 0 && t.sharable() == nil {
		ways = append(ways, Reflink)
	}
	if s, ok := onlyOnline(t.sources); ok && s.Online.Memory {
		ways = slices.Insert(ways, 0, Engine)
	} else if ok {
		ways = append(ways, Engine)
	}
	return append(ways, Delta), nil
}

// possible says why the way that was asked for is none.
func (t *taking) possible() error {
	switch t.Way {
	case Delta:
		return nil
	case Snapshot:
		if err := t.snapable(); err != nil {
			return forkbox.Errorf(forkbox.Unsupported, opTake, "no snapshot can be made of its data: %w", err).
				Hint("have the data in one subvolume of a btrfs, and forkbox's files on that btrfs")
		}
		return nil
	case Reflink:
		if err := t.sharable(); err != nil {
			return forkbox.Errorf(forkbox.Unsupported, opTake, "its files cannot be shared with the copy: %w", err).
				Hint("keep forkbox's files on the filesystem that has the data, and that be XFS or btrfs")
		}
		return nil
	case Engine:
		for _, s := range t.sources {
			if s.PID != 0 && (s.Online == nil || len(s.Paths) != 1) {
				return forkbox.Errorf(forkbox.Unsupported, opTake, "%s has no way of its own to copy its data", s.Name)
			}
		}
		return nil
	case Plain:
		if len(t.roots) > 0 {
			return forkbox.Errorf(forkbox.Unsupported, opTake, "it runs: a plain copy would be of no one moment")
		}
		return nil
	}
	return forkbox.Errorf(forkbox.Unsupported, opTake, "there is no way %q", t.Way).Hint("there are: snapshot, reflink, online, delta, plain")
}

// onlyOnline is the one service that runs, if it can copy its data itself. Two of
// them would do it at two moments.
func onlyOnline(sources []Source) (Source, bool) {
	running := slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return s.PID == 0 })
	if len(running) != 1 || running[0].Online == nil || len(running[0].Paths) != 1 {
		return Source{}, false
	}
	return running[0], true
}

func (t *taking) by(ctx context.Context, way string) error {
	switch way {
	case Snapshot:
		return t.bySnapshot(ctx)
	case Reflink:
		return t.byReflink(ctx)
	case Engine:
		return t.byEngine(ctx)
	case Delta:
		return t.byDelta(ctx)
	}
	return t.plain(ctx)
}

// plain copies what nobody writes to.
func (t *taking) plain(ctx context.Context) error {
	total, err := survey(ctx, t.items, nil, nil)
	if err != nil {
		return err
	}
	t.taken.At = time.Now()
	m := newMirror(mayShare)
	m.step = t.steps(total.bytes)
	if err := m.pass(ctx, t.items, false, nil); err != nil {
		return err
	}
	t.count(m)
	return nil
}

// count notes what the copy has.
func (t *taking) count(m *mirror) { t.taken.Files, t.taken.Bytes, t.taken.of = m.files, m.bytes, m.of }

// steps tells of progress.
func (t *taking) steps(total int64) func(int64) {
	var done int64
	return func(n int64) {
		done += n
		if t.Progress != nil {
			t.Progress(min(done, total), total)
		}
	}
}

// discard removes what was copied. Directories may have become ones that nobody
// may write to.
func (t *taking) discard() error {
	var errs []error
	for _, it := range t.items {
		if os.RemoveAll(it.to) == nil {
			continue
		}
		_ = filepath.WalkDir(it.to, func(path string, e fs.DirEntry, err error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		errs = append(errs, os.RemoveAll(it.to))
	}
	return errors.Join(errs...)
}

// stopped does something while the services stand still, and fails if they went
// on before it was done.
func (t *taking) stopped(ctx context.Context, do func(context.Context, *frozen) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.MaxPause)
	defer cancel()
	f, err := freeze(ctx, t.roots, t.MaxPause)
	if err != nil {
		return t.late(ctx, err)
	}
	err = do(ctx, f)
	paused, thawErr := f.thaw()
	t.taken.At, t.taken.Paused = f.at, paused
	return t.late(ctx, errors.Join(thawErr, err))
}

// late gives what a deadline ended its reason.
func (t *taking) late(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, errLate) && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return t.advise(forkbox.Errorf(forkbox.TimedOut, opTake, "it was not done in the %s that %s may stand still: %w", t.MaxPause, t.names(), err), longer(t.MaxPause))
}

// advise says what would help against a pause that is too long.
func (t *taking) advise(err *forkbox.Error, pause time.Duration) error {
	if t.watched != "" {
		return err.Hint("systemd ends %s when it is silent for twice as long (WatchdogSec): copy it while little is written, or have the data and forkbox's files on one btrfs or XFS", t.watched)
	}
	return err.Hint("allow it with `--pause %s`", pause)
}

func (t *taking) names() string {
	var all []string
	for _, s := range t.sources {
		if s.PID != 0 {
			all = append(all, s.Name)
		}
	}
	return strings.Join(slices.Compact(all), ", ") // a container is several sources
}

// longer is a pause with room for more than was expected.
func longer(pause time.Duration) time.Duration {
	return max(5*time.Second, (2*pause).Truncate(time.Second)+time.Second)
}

// sharable says why the blocks of the data cannot be shared with the copy.
func (t *taking) sharable() error {
	for _, it := range t.items {
		if err := sharableAt(it.from, filepath.Dir(it.to)); err != nil {
			return err
		}
	}
	return nil
}

// noSharing says whether an error is about blocks that cannot be shared.
func noSharing(err error) bool { return errors.Is(err, filecopy.ErrNoSharing) }
