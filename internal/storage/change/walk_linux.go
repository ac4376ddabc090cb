package change

import (
	"context"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// maxDepth is more than an absolute path of any program can have, and few
// enough that a box cannot use up the daemon's file descriptors by nesting.
const maxDepth = 2048

// maxParts is how many directories of layers may be open at once: a box that
// nests directories and takes snapshots multiplies the two.
const maxParts = 16 << 10

// walker goes through the upper directories side by side with the base.
type walker struct {
	ctx     context.Context
	src     Source
	yield   Yield
	mounts  map[string]bool // where a filesystem of its own begins
	hidden  map[string]bool
	ahead   []Upper // filesystems that were not read yet, sorted
	moves   *moves  // of the filesystem that is being read
	links   links
	since   time.Time // see Trees; zero when reading layers
	effort  effort
	files   describer
	lookers lookers
	reader  *audience      // nil where it may read everything
	trees   bool           // both sides are trees as boxes show them: see between
	found   map[stamp]bool // only of a scout, which tells nothing: what the box displaced
}

// place is one directory, as the box has it and as the base has it.
type place struct {
	path   string // in the machine
	parts  []part // as the box has it: the topmost decides
	one    [1]part
	base   int    // none where the base has no such directory
	ground int    // base, or that of the nearest directory above that has one
	origin string // where base lies, from the root of its filesystem: not where upper does, below a renamed directory
	depth  int

	opaque  bool   // nothing of the base shines through
	moved   bool   // it lies in, or is, a renamed directory
	covered string // where something was mounted over the base since, if it lies in that
	hidden  bool   // the box was not shown the base
	unknown bool   // the base is there but may not be read
}

func newWalker(ctx context.Context, src Source, yield Yield) *walker {
	w := &walker{ctx: ctx, src: src, yield: yield, mounts: map[string]bool{}, hidden: map[string]bool{}, links: links{}, files: newDescriber(src)}
	w.reader = newAudience(src.Reader)
	w.lookers.hands = newHands(w)
	return w
}

func read(ctx context.Context, src Source, yield Yield) (effort, error) {
	w := newWalker(ctx, src, yield)
	for _, u := range src.Uppers {
		w.mounts[u.Mount] = true
	}
	for _, h := range src.Hidden {
		w.hidden[path.Clean(h)] = true
	}
	w.reader.beginAt(src.Base)
	w.ahead = src.Uppers
	for len(w.ahead) > 0 {
		if err := w.nextFilesystem(); err != nil {
			return w.effort, err
		}
	}
	return w.effort, nil
}

// upTo reads the filesystems that are mounted at path or sort before it, so
// that the changes of all of them come out in one order.
func (w *walker) upTo(path string) error {
	for len(w.ahead) > 0 && forkbox.ComparePaths(w.ahead[0].Mount, path) <= 0 {
		if err := w.nextFilesystem(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) nextFilesystem() error {
	u, outer := w.ahead[0], w.moves
	w.ahead = w.ahead[1:]
	defer func() { w.moves = outer }()
	return w.filesystem(u)
}

func (w *walker) filesystem(u Upper) error {
	s, err := openStack(u.dirs(), w.src.XattrPrefix)
	if err != nil {
		return forkbox.Wrap("read the box's changes", err)
	}
	defer s.close()
	if len(s.tops) == 0 {
		return nil
	}
	base, err := unix.Open(filepath.Join(w.src.Base, u.Mount), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		base = none // unmounted since: all that the box wrote there is new
	}
	defer closeDir(base)
	p := &place{path: u.Mount, parts: s.tops, base: base, ground: base, hidden: w.below(u.Mount)}
	if p.hidden {
		p.base = none
	}
	w.moves = &moves{of: u, stack: s, mount: u.Mount, base: base}
	if err := w.root(p); err != nil {
		return err
	}
	return w.walk(p)
}

// affordable says whether what is in a directory can be looked at without
// using up the daemon's descriptors.
func (w *walker) affordable(p *place) error {
	if p.depth*len(p.parts) <= maxParts {
		return nil
	}
	return forkbox.Errorf(forkbox.Unsupported, "read the box's changes", "directories are nested %d deep in %d layers in %.80q…", p.depth, len(p.parts), p.path)
}

// root reports a change of the attributes of a filesystem's root. The store
// made that directory with the base's mode and owner, but without its
// extended attributes: only those that the box added or altered are told.
func (w *walker) root(p *place) error {
	if p.base == none || p.hidden || w.skipped(p.path, false) {
		return nil
	}
	up, err := lstat(p.top(), ".")
	if err != nil {
		return err
	}
	base, err := lstat(p.base, ".")
	if err != nil {
		return keepFatal(err)
	}
	e := &entry{w: w, in: p, dir: p.top(), name: ".", path: p.path, up: up, base: base, state: present, baseDir: p.base, baseName: "."}
	if w.lookers.first().compareAttrs(e); len(e.differ) == 0 {
		return nil
	}
	return w.emit(e, forkbox.Mode)
}

// walk reports what changed below p.
func (w *walker) walk(p *place) error {
	if p.depth > maxDepth {
		return forkbox.Errorf(forkbox.Unsupported, "read the box's changes", "directories are nested more than %d deep in %.80q…", maxDepth, p.path)
	}
	r, err := w.names(p)
	if err != nil {
		return err
	}
	return w.walkNames(p, r)
}

// top is the directory that the box has on top, if it has any.
func (p *place) top() int {
	if len(p.parts) == 0 {
		return none
	}
	return p.parts[0].dir
}

// hold makes dir all that the box has of a place.
func (p *place) hold(dir int) {
	p.one[0] = part{dir: dir}
	p.parts = p.one[:]
}

// names lists what to look at: the names in the layers, and where nothing
// shines through also those of the base, for they are deleted.
func (w *walker) names(p *place) (roster, error) {
	r, err := roll(p.parts)
	if err != nil || !p.opaque || p.base == none {
		return r, err
	}
	below, err := w.listBase(p.base, 0)
	if err != nil {
		return r, err
	}
	return r.with(below, len(p.parts)), nil
}

// listBase lists a directory of the base; one that may not be read is empty.
func (w *walker) listBase(dir int, resolve uint64) ([]string, error) {
	w.effort.listings++
	fd, err := openDir(dir, ".", resolve)
	if err != nil {
		return nil, keepFatal(err)
	}
	defer unix.Close(fd)
	return linux.Names(fd)
}

// skipped says whether path belongs to another filesystem, or is to be left
// out. The root of a filesystem is not skipped for being one.
func (w *walker) skipped(path string, mounts bool) bool {
	return mounts && w.mounts[path] || w.src.Skip != nil && w.src.Skip(path)
}

// below says whether dir is hidden or lies below what is.
func (w *walker) below(dir string) bool {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if w.hidden[dir] {
			return true
		}
	}
	return w.hidden[dir]
}
