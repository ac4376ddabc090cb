package server

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// fakeLayers is the part of the fake engine that snapshots are. It remembers
// what it was asked, and keeps what was streamed to it.
type fakeLayers struct {
	noting   sync.Mutex
	asked    []any    // the specs, as they came
	refs     []string // what they were about
	archive  string   // what export writes
	failure  error    // what everything ends with; export after the archive
	received string   // of import and bases
	wish     forkbox.Wish
	netWish  forkbox.NetWish
	refuse   int // import fails after so many bytes, if not zero
}

func (f *fakeLayers) note(ref string, spec any) {
	f.noting.Lock()
	defer f.noting.Unlock()
	f.refs, f.asked = append(f.refs, ref), append(f.asked, spec)
}

func (f *fakeLayers) noteWish(wish forkbox.Wish, net forkbox.NetWish) {
	f.noting.Lock()
	defer f.noting.Unlock()
	f.wish, f.netWish = wish, net
}

func (f *fakeLayers) Snapshot(_ context.Context, _ forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	f.note(ref, spec)
	return forkbox.Snapshot{ID: "s1", Name: spec.Name, Message: spec.Message}, f.failure
}

func (f *fakeLayers) Snapshots(_ context.Context, _ forkbox.Owner, ref string) ([]forkbox.Snapshot, error) {
	f.note(ref, nil)
	return nil, f.failure
}

func (f *fakeLayers) Rollback(_ context.Context, _ forkbox.Owner, ref string, spec forkbox.RollbackSpec) (forkbox.Rollback, error) {
	f.note(ref, spec)
	return forkbox.Rollback{Box: forkbox.Box{ID: "b1", Env: []string{"A=1"}}, To: forkbox.Snapshot{Name: spec.To}, Kept: forkbox.Snapshot{Name: "auto-1"}}, f.failure
}

func (f *fakeLayers) ForkWith(_ context.Context, _ forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (forkbox.Fork, error) {
	f.note(ref, spec)
	f.noteWish(wish, net)
	return forkbox.Fork{Children: []forkbox.Child{
		{Name: "c1", Box: &forkbox.Box{ID: "b2", Name: "c1", Env: []string{"A=1"}}},
		{Name: "c2", Error: forkbox.Errorf(forkbox.Exists, "create box", "there is one").Hint("choose another")},
	}}, f.failure
}

func (f *fakeLayers) RemoveSnapshot(_ context.Context, _ forkbox.Owner, ref string, squash bool) error {
	f.note(ref, squash)
	return f.failure
}

func (f *fakeLayers) Family(context.Context, forkbox.Owner) (forkbox.Family, error) {
	return forkbox.Family{Boxes: []forkbox.Box{{ID: "b1", Env: []string{"A=1"}}}}, f.failure
}

func (f *fakeLayers) CreateTemplate(_ context.Context, _ forkbox.Owner, spec forkbox.TemplateSpec) (forkbox.Template, error) {
	f.note(spec.Name, spec)
	return forkbox.Template{Name: spec.Name, Warm: spec.Warm}, f.failure
}

func (f *fakeLayers) Templates(context.Context, forkbox.Owner) ([]forkbox.Template, error) {
	return []forkbox.Template{{Name: "t1", Env: []string{"A=1"}}}, f.failure
}

func (f *fakeLayers) RemoveTemplate(_ context.Context, _ forkbox.Owner, name string) error {
	f.note(name, nil)
	return f.failure
}

func (f *fakeLayers) WarmTemplate(_ context.Context, _ forkbox.Owner, name string, n int) (forkbox.Template, error) {
	f.note(name, n)
	return forkbox.Template{Name: name, Warm: n}, f.failure
}

func (f *fakeLayers) Export(_ context.Context, _ forkbox.Owner, ref string, w io.Writer) error {
	f.note(ref, nil)
	if _, err := io.WriteString(w, f.archive); err != nil {
		return err
	}
	return f.failure
}

func (f *fakeLayers) ImportWith(_ context.Context, _ forkbox.Owner, r io.Reader, spec forkbox.ImportSpec, wish forkbox.Wish, net forkbox.NetWish) (forkbox.Import, error) {
	f.note(spec.Name, spec)
	f.noteWish(wish, net)
	if err := f.receive(r); err != nil {
		return forkbox.Import{}, err
	}
	return forkbox.Import{Box: forkbox.Box{ID: "b9", Name: spec.Name}, Differences: []forkbox.Difference{{Kind: "arch"}}}, f.failure
}

func (f *fakeLayers) AddBase(_ context.Context, _ forkbox.Owner, kind, name string, r io.Reader) (forkbox.Base, error) {
	f.note(name, kind)
	return forkbox.Base{Kind: kind, Root: "/roots/r1", Name: name}, f.receive(r)
}

func (f *fakeLayers) receive(r io.Reader) error {
	var text strings.Builder
	if f.refuse > 0 {
		if _, err := io.CopyN(&text, r, int64(f.refuse)); err != nil {
			return err
		}
		return forkbox.Errorf(forkbox.Invalid, "import a box", "its digest is wrong")
	}
	_, err := io.Copy(&text, r)
	f.noting.Lock()
	defer f.noting.Unlock()
	f.received = text.String()
	return err
}

func (f *fakeLayers) Keep(_ context.Context, _ forkbox.Owner, ref string, keep bool) (forkbox.Box, error) {
	f.note(ref, keep)
	return forkbox.Box{ID: ref, Kept: keep}, f.failure
}

func (f *fakeLayers) GC(_ context.Context, _ forkbox.Owner, spec forkbox.GCSpec) (forkbox.GC, error) {
	f.note("gc", spec)
	return forkbox.GC{DryRun: spec.DryRun}, f.failure
}

func (f *fakeLayers) Usage(context.Context, forkbox.Owner) (forkbox.Usage, error) {
	return forkbox.Usage{Total: 7}, f.failure
}
