package review

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/merge"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Update is what sync does in a box for one path that reality changed.
type Update struct {
	Items    []land.Item
	Conflict string // why it could not be merged; markers, if any, are in Items
	Taken    bool   // the box has reality's version then
	Base     []byte // what the next merge starts from, where that is known
	BaseMode fs.FileMode
}

// boxLabels are those of conflict markers in a box.
var boxLabels = merge.Labels{Ours: "box", Theirs: "reality"}

// Update plans one path. None is needed where reality did nothing, unless an
// earlier sync left it undecided and its owner has not decided since.
func (v *View) Update(ctx context.Context, e *Entry) (*Update, error) {
	u, err := v.update(ctx, e)
	if err != nil || u != nil || !v.Unresolved(e.Path) {
		return u, err
	}
	return v.stillOpen(ctx, e)
}

// stillOpen is for a path that reality did nothing more to. A text is decided
// when its markers are gone.
func (v *View) stillOpen(ctx context.Context, e *Entry) (*Update, error) {
	u := &Update{Conflict: "an earlier sync left it undecided"}
	if e.Kind == forkbox.Deleted {
		return u, nil
	}
	t, err := v.trio(ctx, e)
	if err != nil || !t.mergeable() || !t.reality.there {
		return u, err
	}
	if !merge.HasMarkers(t.inBox.content) {
		return nil, nil
	}
	u.Conflict += ": see the markers in the box"
	u.Base, u.BaseMode = t.reality.content, t.reality.mode
	return u, nil
}

func (v *View) update(ctx context.Context, e *Entry) (*Update, error) {
	if v.Landed(e) {
		return v.adoptReality(e)
	}
	if v.onlyHolds(ctx, e) {
		return nil, nil // as with a directory that landed itself
	}
	deleted, err := v.deletedSince(ctx, e)
	switch {
	case err != nil:
		return nil, err
	case deleted:
		return &Update{Conflict: "the box changed it, and reality deleted it"}, nil
	case e.OldMode.IsDir() && (e.Kind == forkbox.Deleted || e.Kind == forkbox.Type):
		return v.updateLost(e)
	case e.Kind == forkbox.Renamed:
		return v.updateMoved(e), nil
	case v.onlyCopied(ctx, e):
		return v.adoptReality(e)
	case !e.Drifted:
		return nil, nil
	case e.Kind == forkbox.Deleted:
		return &Update{Conflict: "the box deleted it, and reality changed it"}, nil
	}
	t, err := v.trio(ctx, e)
	if err != nil {
		return nil, err
	}
	if e.Kind == forkbox.Mode && bytes.Equal(t.reality.content, t.inBox.content) {
		return v.updateAttributes(e, t)
	}
	if v.onlyRewrote(e, t) {
		return v.adoptReality(e)
	}
	if !t.mergeable() {
		return &Update{Conflict: "both changed it, and " + t.notMergeable()}, nil
	}
	return v.mergeInto(e, t)
}

// updateMoved is for a directory that the box moved. That reality has something
// else in its old place stays undecided, also when the fence has moved on.
func (v *View) updateMoved(e *Entry) *Update {
	if !e.Drifted && !v.Unresolved(e.Path) {
		return nil
	}
	return &Update{Conflict: fmt.Sprintf("the box moved it from %q, and reality has another directory there, or none", e.From)}
}

// updateLost is for a directory that the box deleted or replaced. What reality
// did in it since must not go with it later, when the fence has moved on.
func (v *View) updateLost(e *Entry) (*Update, error) {
	changed := ""
	if e.Drifted {
		changed = e.Path
	}
	err := e.Sides.Below(func(path string, n forkbox.Node, kept bool) error {
		if changed == "" && !kept && v.sinceBelow(path, n) {
			changed = path
		}
		return nil
	})
	if err != nil || changed == "" {
		return nil, skipVanished(err)
	}
	return &Update{Conflict: fmt.Sprintf("the box deleted it, and reality changed %q", changed)}, nil
}

// updateAttributes is for a file of which nothing else differs.
func (v *View) updateAttributes(e *Entry, t trio) (*Update, error) {
	mode, known := t.mode()
	switch {
	case !t.base.there || !known || e.differs("owner", "xattr"):
		return &Update{Conflict: "its attributes differ, reality changed it, and it is not known who changed them"}, nil
	case mode == t.reality.mode:
		return v.adoptReality(e)
	}
	return nil, nil // the box's stay
}

// mergeInto merges reality's lines into the box's file.
func (v *View) mergeInto(e *Entry, t trio) (*Update, error) {
	u := &Update{Base: t.reality.content, BaseMode: t.reality.mode}
	again := v.Unresolved(e.Path) || markedBySync(t.inBox.content, t.reality.content)
	var m merge.Result
	switch {
	case t.base.there && bytes.Equal(t.base.content, t.inBox.content) && len(e.Attrs) == 0:
		return v.adoptReality(e)
	case again && t.base.there:
		m = merge.Again(append([]byte{}, t.base.content...), t.inBox.content, t.reality.content, boxLabels)
	case again:
		m = merge.Again(nil, t.inBox.content, t.reality.content, boxLabels)
	case t.base.there:
		m = merge.Three(t.base.content, t.inBox.content, t.reality.content, boxLabels)
	default:
		m = merge.Two(t.inBox.content, t.reality.content, boxLabels)
	}
	if m.Conflicts > 0 {
		u.Conflict = "both changed the same lines: see the markers in the box"
		if !t.base.there {
			u.Conflict = "both changed it, and what it was is not known: see the markers in the box"
		}
	}
	n, err := v.mergedNode(e, t, u)
	if err != nil {
		return nil, err
	}
	n.Size = int64(len(m.Content))
	if m.Content == nil {
		m.Content = []byte{}
	}
	u.Items = []land.Item{{Path: e.Path, Op: land.Put, Node: n, Bytes: m.Content}}
	return u, nil
}

// mergedNode has the attributes of a merged file: reality's, where it is not
// known who changed them. The box's would land one day, and no one would know
// that reality had meant something else.
func (v *View) mergedNode(e *Entry, t trio, u *Update) (forkbox.Node, error) {
	n, err := e.New()
	if err != nil {
		return n, err
	}
	mode, known := t.attributes(e)
	if known {
		n.Mode = mode
		return n, nil
	}
	if u.Conflict == "" {
		u.Conflict = "its attributes differ, and it is not known who changed them: it has reality's now"
	}
	return e.Sides.Old()
}

// adoptReality gives the box what reality has: it did nothing of its own there.
func (v *View) adoptReality(e *Entry) (*Update, error) {
	old, err := e.Sides.Old()
	if isNotExist(err) && e.Type == "dir" {
		return nil, nil // what is in it comes by itself, and may be the box's; empty it is no change
	}
	if isNotExist(err) {
		return &Update{Taken: true, Items: []land.Item{{Path: e.Path, Op: land.Remove}}}, nil
	}
	if err == nil && old.Mode.IsDir() && e.Kind == forkbox.Mode {
		return &Update{Taken: true, Items: []land.Item{{Path: e.Path, Op: land.Attr, Node: old}}}, nil
	}
	if err != nil || old.Mode.IsDir() {
		return nil, err
	}
	item := land.Item{Path: e.Path, Op: land.Put, Node: old}
	if old.Mode.IsRegular() {
		item.Content = e.Sides.OpenOld
	}
	return &Update{Taken: true, Items: []land.Item{item}}, nil
}
