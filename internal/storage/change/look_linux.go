package change

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const (
	// batchSize is how many names of a directory are looked at together.
	batchSize = 128
	// handful is how many of them one goroutine takes at a time.
	handful = 8
	// maxHands is how many goroutines look, where there are processors.
	maxHands = 4
)

// hand is what one goroutine needs to look at files. Nearly all the time of
// reading changes goes into asking the kernel, so several ask at once; what
// they found is told by one, in order.
type hand struct {
	w     *walker
	lists [2]listBuffer
	comparer
}

func newHands(w *walker) []*hand {
	hands := make([]*hand, min(runtime.GOMAXPROCS(0), maxHands))
	for i := range hands {
		hands[i] = &hand{w: w}
	}
	return hands
}

// lookers are the goroutines that look, and the batches that they look at.
type lookers struct {
	hands []*hand
	spare []batch // that are not in use
}

// first is the one that looks when there is a single file to look at.
func (l *lookers) first() *hand { return l.hands[0] }

// batch is the entries of a directory that are looked at together.
type batch []entry

// take gives a batch: one for each level that is being walked, used again and again.
func (l *lookers) take() batch {
	if n := len(l.spare); n > 0 {
		b := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return b
	}
	return make(batch, 0, batchSize)
}

func (l *lookers) give(b batch) {
	clear(b[:cap(b)])
	l.spare = append(l.spare, b[:0])
}

// gather makes entries of names and looks at them.
func (w *walker) gather(p *place, r roster, b batch) batch {
	b = b[:len(r.names)]
	for i, name := range r.names {
		e, top := &b[i], r.top(i, p.parts)
		*e = entry{w: w, in: p, dir: top.dir, marked: top.marked, owners: r.ownersOf(i), name: name, path: join(p.path, name), baseDir: p.base, baseName: name}
		e.skipped = w.skipped(e.path, true) || strings.HasPrefix(e.name, forkbox.SyncStaging)
		e.cover = !p.hidden && w.isHidden(p, name, e.path)
		e.hidden = p.hidden || e.cover
		if p.base != none && !e.skipped {
			w.effort.lookups++
		}
	}
	w.lookers.lookAt(b)
	return b
}

func (l *lookers) lookAt(b batch) {
	helpers := min(len(l.hands), len(b)/(2*handful)) - 1
	var next atomic.Int64
	var group sync.WaitGroup
	for i := range helpers {
		group.Go(func() { l.hands[i+1].lookAtSome(b, &next) })
	}
	l.hands[0].lookAtSome(b, &next)
	group.Wait()
}

func (h *hand) lookAtSome(b batch, next *atomic.Int64) {
	for {
		start := int(next.Add(handful)) - handful
		if start >= len(b) {
			return
		}
		for i := start; i < min(start+handful, len(b)); i++ {
			// What is mounted there may not answer.
			if !b[i].skipped {
				h.look(&b[i])
			}
		}
	}
}

// look finds out what there is to know about an entry as it is in the two
// directories. What depends on the rest of the tree is not decided here.
func (h *hand) look(e *entry) {
	e.up, e.upErr = lstatIn(e.dir, e.name)
	if e.err = e.lookBase(); e.err != nil || e.upErr != nil || e.state != present || e.hidden || e.up.isWhiteout() {
		return
	}
	if h.w.found != nil {
		return // a scout does not compare
	}
	if e.up.isRegular() && e.base.isRegular() && e.up.Size != e.base.Size {
		// Modified, whatever else there is: two system calls are saved.
		e.content = different
		h.compareModes(e)
		return
	}
	h.compareAttrs(e)
	if e.up.isRegular() && e.base.isRegular() {
		e.content, e.err = h.compareFiles(e)
	}
}

func (e *entry) lookBase() error {
	if e.in.unknown {
		e.state = unknown
	}
	if e.in.base == none {
		return nil
	}
	base, err := lstat(e.in.base, e.name)
	switch {
	case err == nil:
		e.base, e.state = base, present
	case fatal(err):
		return err
	case errors.Is(err, unix.EACCES):
		e.state = unknown
	}
	return nil
}

// lstatIn is lstat for a directory that may not be there.
func lstatIn(dir int, name string) (file, error) {
	if dir == none {
		return file{}, unix.ENOENT
	}
	return lstat(dir, name)
}

// verdict on the content of a file.
type verdict int

const (
	undecided verdict = iota
	same
	different
)

// compareFiles compares two regular files. It leaves those undecided that have
// their content elsewhere.
func (h *hand) compareFiles(e *entry) (verdict, error) {
	switch {
	case e.up.Size == 0 || h.w.untouched(e):
		return same, nil
	case e.metacopy && len(e.in.parts) > 1:
		return different, nil // stacks are never mounted so; where its content is cannot be told
	case e.metacopy:
		return undecided, nil
	}
	equal, err := h.same(e.dir, e.name, e.baseDir, e.baseName, e.comparable)
	if !equal {
		return different, err
	}
	return same, err
}

// walkNames reports what changed at each of the names.
func (w *walker) walkNames(p *place, r roster) error {
	b := w.lookers.take()
	defer func() { w.lookers.give(b) }()
	for start := 0; start < len(r.names); start += batchSize {
		b = w.gather(p, r.cut(start, min(start+batchSize, len(r.names))), b)
		for i := range b {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			if err := w.entry(&b[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
