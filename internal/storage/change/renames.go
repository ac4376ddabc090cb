package change

import (
	"errors"
	"io/fs"
	"os"

	"github.com/forkbox/forkbox"
)

// Renames is a stage between [Read] and a caller that shows the changes: it finds
// files that were moved, as git does, from what went and what came. It is for
// the eye. What is applied are the changes as they were read.
//
// A deleted file that is found again is not told; the added one becomes
// Renamed, with From and Similarity. A deleted directory is still told when
// files of it are found elsewhere, with only the rest counted in Entries and
// Size: that the directory is gone stays true. Owners are not compared.
//
//	r := change.NewRenames(4096, yield)
//	err := change.Read(ctx, src, r.Add)
//	if err == nil {
//		err = r.Flush()
//	}
//	r.Close()
//
// Everything has to be held back until the last change was seen. So yield gets
// no sides, but for the changes that come after there were too many.
type Renames struct {
	limit   int
	yield   Yield
	held    []held
	sources []*candidate // what went
	targets []*candidate // what came
	spent   spent
	closed  []string // what went and may not be read
	through bool     // there were too many: nothing is held back any more
	skipped bool
}

// held is a change that waits.
type held struct {
	forkbox.Change
	dropped bool // it is told as the source of a rename
}

// NewRenames finds renames among at most limit changes. With more than that
// all of them are passed on as they are, and Skipped says so.
func NewRenames(limit int, yield Yield) *Renames {
	return &Renames{limit: limit, yield: yield}
}

// Skipped says that not everything was compared with everything, because
// there was too much of it: a moved file may be told as deleted and added.
func (r *Renames) Skipped() bool { return r.skipped }

// Closed are the files that went, or lay in a directory that did, and that were
// compared with nothing because the user who is told may not read them.
func (r *Renames) Closed() []string { return r.closed }

// Through says that there were too many: nothing will be found, and what comes
// from now on is passed on as it is.
func (r *Renames) Through() bool { return r.through }

// Add takes a change, with its sides; the content of a file that may have been
// moved is read here.
func (r *Renames) Add(c forkbox.Change, s forkbox.Sides) error {
	if r.through {
		return r.yield(c, s)
	}
	if len(r.held) == r.limit {
		r.through, r.skipped = true, true
		r.Close()
		if err := r.pass(); err != nil {
			return err
		}
		return r.yield(c, s)
	}
	r.held = append(r.held, held{Change: c})
	return r.consider(len(r.held)-1, s)
}

// Flush passes on what was held back, with what was found.
func (r *Renames) Flush() error {
	for _, p := range r.pairs() {
		r.join(p)
	}
	r.Close()
	return r.pass()
}

// Close lets go of the files that are held open. It can be repeated.
func (r *Renames) Close() {
	for _, c := range append(r.sources, r.targets...) {
		c.close()
	}
	r.sources, r.targets = nil, nil
}

func (r *Renames) pass() error {
	waiting := r.held
	r.held = nil
	for _, h := range waiting {
		if h.dropped {
			continue
		}
		if err := r.yield(h.Change, nil); err != nil {
			return err
		}
	}
	return nil
}

// guarded is what sides can do that know whom the changes are told to: they open
// what that user may read. How much a file is like one that the user made would
// tell what is in it.
type guarded interface {
	ShowOld() (*os.File, error)
	ShowNew() (*os.File, error)
}

func oldShown(s forkbox.Sides) func() (*os.File, error) {
	if to, ok := s.(guarded); ok {
		return to.ShowOld
	}
	return s.OpenOld
}

func newShown(s forkbox.Sides) func() (*os.File, error) {
	if to, ok := s.(guarded); ok {
		return to.ShowNew
	}
	return s.OpenNew
}

// filesBelow is what sides can do that know the files of a deleted directory.
type filesBelow interface {
	filesBelow(yield func(path string, node forkbox.Node, open func() (*os.File, error)) error) error
}

// errEnough ends a listing early.
var errEnough = errors.New("enough")

// consider makes a change that may be one end of a rename a candidate.
func (r *Renames) consider(at int, s forkbox.Sides) error {
	c := r.held[at].Change
	switch {
	case c.Hidden || c.Link != "" || s == nil:
		return nil
	case c.Kind == forkbox.Added && c.Type == "file":
		return r.target(at, c, s)
	case c.Kind == forkbox.Deleted && c.Type == "file":
		k, err := r.source(c.Path, c.Size, oldShown(s))
		if k != nil {
			k.at, k.mode = at, c.OldMode
			r.sources = append(r.sources, k)
		}
		return err
	case c.OldMode.IsDir() && (c.Kind == forkbox.Deleted || c.Kind == forkbox.Type):
		return r.below(at, s)
	}
	return nil
}

// source makes a candidate of what went, or notes that it may not be read.
func (r *Renames) source(name string, size int64, open func() (*os.File, error)) (*candidate, error) {
	return r.read(name, size, func() (*os.File, error) {
		f, err := open()
		if errors.Is(err, fs.ErrPermission) {
			r.closed = append(r.closed, name)
		}
		return f, err
	})
}

func (r *Renames) target(at int, c forkbox.Change, s forkbox.Sides) error {
	k, err := r.read(c.Path, c.Size, newShown(s))
	if k != nil {
		k.at = at
		r.targets = append(r.targets, k)
	}
	return err
}

// below takes the files of a directory that is gone, as many as may be held.
func (r *Renames) below(at int, s forkbox.Sides) error {
	dir, ok := s.(filesBelow)
	if !ok {
		return nil
	}
	err := dir.filesBelow(func(path string, n forkbox.Node, open func() (*os.File, error)) error {
		if len(r.sources) >= r.limit {
			r.skipped = true
			return errEnough
		}
		k, err := r.source(path, n.Size, open)
		if k != nil {
			k.at, k.inside, k.mode = at, true, n.Mode
			r.sources = append(r.sources, k)
		}
		return err
	})
	if errors.Is(err, errEnough) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// join tells a pair as one change.
func (r *Renames) join(p pair) {
	to, from := &r.held[p.target.at], &r.held[p.source.at]
	to.Kind, to.From, to.Similarity = forkbox.Renamed, p.source.path, p.percent()
	to.OldSize, to.OldMode = p.source.size, p.source.mode
	if to.Mode != to.OldMode {
		to.Attrs = []string{"mode"}
	}
	if !p.source.inside {
		from.dropped = true
		return
	}
	from.Entries--
	if from.Kind == forkbox.Deleted {
		from.Size -= p.source.size
	} else {
		from.OldSize -= p.source.size
	}
}
