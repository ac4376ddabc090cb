package changes

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/scope"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// Diff yields the changes of a box that spec asks for, and sums up the rest.
func (m *Manager) Diff(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error) {
	const op = "read changes"
	if err := spec.Check(op); err != nil {
		return forkbox.Summary{}, err
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.Summary{}, err
	}
	defer end()
	box, release, err := m.snapshots.HoldAt(ctx, op, who, ref)
	if err != nil {
		return forkbox.Summary{}, err
	}
	defer release()
	view, err := m.View(ctx, box)
	if err != nil {
		return forkbox.Summary{}, err
	}
	if spec.Against != "" {
		other, release, err := m.snapshots.HoldAt(ctx, op, who, spec.Against)
		if err != nil {
			return forkbox.Summary{}, err
		}
		defer release()
		if err := m.against(who, box, other, view); err != nil {
			return forkbox.Summary{}, err
		}
	}
	if err = m.diff(ctx, view, spec, yield); err == nil && spec.Against == "" {
		view.Summary.Unshown, err = m.unshown(ctx, box)
	}
	return view.Summary, forkbox.Wrap(op, err)
}

// unshown asks a provider whose boxes may not show all that they changed.
func (m *Manager) unshown(ctx context.Context, box forkbox.Box) ([]string, error) {
	p, ok := m.core.Provider.(interface {
		// Unshown lists the directories over which there is such a change.
		Unshown(ctx context.Context, box forkbox.Box) ([]string, error)
	})
	if !ok {
		return nil, nil
	}
	return p.Unshown(ctx, box)
}

func (m *Manager) diff(ctx context.Context, view *review.View, spec forkbox.DiffSpec, yield func(forkbox.Change) error) error {
	d := &differ{view: view, spec: spec, root: view.Root, yield: yield, pins: m.newPinner(view)}
	if spec.All || spec.Against != "" && view.Root == "" {
		d.root = "" // a patch has one root for all of its paths
	}
	if spec.Hash {
		d.hash = review.NewHash()
	}
	if spec.Renames {
		d.renames = change.NewRenames(MaxRenames, d.renamed)
		defer d.renames.Close()
	}
	chosen := review.Choose(spec.Selection, nil, bases.NewSorter(view.Root, view.Box))
	err := view.Each(ctx, chosen, func(x *review.Entry) error { return d.entry(ctx, x) })
	if err == nil && d.renames != nil {
		listed := &view.Summary.Count
		*listed = forkbox.Count{}
		err = d.renames.Flush()
		*listed, view.Summary.RenamesSkipped = d.count, d.renames.Skipped()
	}
	if d.hash != nil {
		view.Summary.Hash = d.hash.String()
	}
	return err
}

// differ tells the changes of one box.
type differ struct {
	view    *review.View
	spec    forkbox.DiffSpec
	root    string // of the paths in patches
	pins    *pinner
	hash    *review.Hash
	renames *change.Renames
	count   forkbox.Count
	ends    map[string]end // by path
	held    int            // bytes in ends
	yield   func(forkbox.Change) error
}

func (d *differ) entry(ctx context.Context, x *review.Entry) error {
	d.pins.see(x)
	if d.hash != nil {
		if err := addTo(ctx, d.hash, x); err != nil {
			return err
		}
	}
	if d.spec.Patch || d.spec.Stat {
		before, after, err := d.view.Describe(ctx, x, d.root, d.spec.Patch)
		if err != nil {
			return err
		}
		d.hold(x, before, after)
	}
	if d.renames != nil {
		return d.renames.Add(x.Change, x.Sides)
	}
	return d.yield(x.Change)
}

// end is one end of what may be a rename: a file that came, or went.
type end struct {
	content []byte
	patch   []byte
}

// maxEnds bounds the content that is held to make patches of renames.
const maxEnds = 64 << 20

// hold keeps what a patch of a rename would be made of.
func (d *differ) hold(x *review.Entry, before, after []byte) {
	if d.renames == nil || x.Type != "file" {
		return
	}
	if d.renames.Through() {
		d.ends = nil // nothing is going to be a rename
		return
	}
	e := end{patch: x.Patch}
	switch x.Kind {
	case forkbox.Added:
		e.content = after
	case forkbox.Deleted:
		e.content = before
	default:
		return
	}
	if d.held += len(e.content); d.held > maxEnds {
		e.content = nil // its patch tells of a deletion and an addition then
	}
	if d.ends == nil {
		d.ends = map[string]end{}
	}
	d.ends[x.Path] = e
}

// renamed is told of what is left after moved files were found.
func (d *differ) renamed(c forkbox.Change, _ forkbox.Sides) error {
	if c.Kind == forkbox.Renamed && c.Similarity > 0 && (d.spec.Patch || d.spec.Stat) {
		if err := d.patchOfRename(&c); err != nil {
			return err
		}
	}
	d.count.Add(c)
	return d.yield(c)
}

// patchOfRename replaces the patch of an addition. Where the other end was in a
// deleted directory its deletion is in the patch of that one.
func (d *differ) patchOfRename(c *forkbox.Change) error {
	from, ok := d.ends[c.From]
	to, both := d.ends[c.Path]
	switch {
	case !ok || !both:
		return nil
	case from.content == nil || to.content == nil:
		c.Patch = slices.Concat(from.patch, c.Patch)
		return nil
	}
	return review.Rename(c, from.content, to.content, d.root, d.spec.Patch)
}

// MaxRenames is how many changes are looked at for moved files.
const MaxRenames = 4096

func addTo(ctx context.Context, hash *review.Hash, x *review.Entry) error {
	sum, err := review.ContentSum(ctx, x)
	if err != nil {
		return err
	}
	return hash.Add(x, sum)
}

// View is a box's changes, as its owner is to see them.
func (m *Manager) View(ctx context.Context, box forkbox.Box) (*review.View, error) {
	marks, left, err := m.Marks(ctx, box)
	if err != nil {
		return nil, err
	}
	root := scope.Root(box.Dir, bases.Exists)
	if !box.Base.IsReality() {
		root = "/" // all of it is the owner's work
	}
	v := &review.View{
		Box: box, Root: root, Sorter: bases.NewSorter(root, box), Marks: marks, Left: left, Rewritten: git.Rewritten,
		Changes: func(ctx context.Context, yield func(forkbox.Change, forkbox.Sides) error) error {
			return m.core.Provider.Changes(ctx, box, yield)
		},
	}
	if book := m.bases.Book(box, root); book != nil {
		v.Ancestors = &ancestors{Book: book, engine: m, marks: marks}
	}
	return v, m.recall(v)
}
