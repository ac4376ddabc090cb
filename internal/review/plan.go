package review

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/merge"
	"github.com/forkbox/forkbox/internal/review/scope"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Plan makes an apply of a box's changes: what to do at each path, what is
// refused, and what deserves a second look.
type Plan struct {
	View   *View
	Spec   forkbox.ApplySpec
	Chosen *Chosen
	// KeepOwner is for a daemon that is not root: it can give files to no other
	// user else.
	KeepOwner bool
	// Runs are the places that git runs, or learns from what to run, and why.
	Runs map[string]string

	// Stay are files that do not go, nor what they lie in: the box moved them to
	// where they do not land. With StayAll nothing goes.
	Stay    []string
	StayAll bool

	Conflicts []forkbox.Caution // the first of those that are refused
	Refused   int               // how many there are
	Marked    int               // of them, files with the markers of a sync
	Lines     int               // of them, texts that a sync or a choice of markers could show both sides of
	Hopeless  int               // of them, what the box cannot win
	Cautions  []forkbox.Caution
	Left      int // changes that were selected and are not landed

	hunks   map[string]forkbox.HunkSelection
	moved   []forkbox.Move  // directories
	several map[string]bool // paths of files that land and have other names
	halves  []half          // what has to be moved out of what goes
	lost    string          // a directory that cannot land, and so nothing in it; see sourceless and stayWith
}

// Step is what an apply does for one change.
type Step struct {
	Items  []land.Item
	Landed forkbox.Landed
	// Sum is of the box's content, where what lands is something else.
	Sum *[32]byte
	// Kept becomes the path's base, where not all that the box has has landed,
	// or reality has more than that: the part of the box's content that landed.
	// What was merged into it from reality the box has never seen, and so has
	// not taken out when it changes the file again.
	Kept     []byte
	KeptMode fs.FileMode
}

// Tag is what the journal of an apply remembers about a path.
type Tag struct {
	Kind    forkbox.Kind     `json:"kind"`
	Merged  bool             `json:"merged,omitempty"`
	Partial bool             `json:"partial,omitempty"`
	Drifted bool             `json:"drifted,omitempty"` // reality had changed it after the fence
	Open    bool             `json:"open,omitempty"`    // a sync had left it undecided
	Box     forkbox.Identity `json:"box"`
}

// labels of conflict markers in reality.
var labels = merge.Labels{Ours: "reality", Theirs: "box"}

// Next plans one change. A step without items lands nothing.
func (p *Plan) Next(ctx context.Context, e *Entry) (Step, error) {
	if e.Hidden && !p.Chosen.named(e.Path) {
		p.Left++
		return Step{}, nil
	}
	if at := covered(e); at != "" {
		return p.impossible(e, fmt.Sprintf("something was mounted at %q after the fork: unmount it, or it is not what the box began from", at))
	}
	if p.lost != "" && e.Path != p.lost && forkbox.Within(e.Path, p.lost) {
		p.Left++
		return Step{}, nil
	}
	if p.stays(e) {
		p.Left++
		return Step{}, nil
	}
	if err := p.caution(e); err != nil {
		return Step{}, err
	}
	s, err := p.step(ctx, e)
	if err != nil || len(s.Items) == 0 {
		return s, err
	}
	if held, err := p.hold(e, s); held || err != nil {
		return Step{}, err
	}
	s.Landed.Path, s.Landed.Kind = e.Path, e.Kind
	return s, p.tag(e, &s)
}

func (p *Plan) stays(e *Entry) bool {
	if e.Kind != forkbox.Deleted && (e.Kind != forkbox.Type || !e.OldMode.IsDir()) {
		return false
	}
	return p.StayAll || slices.ContainsFunc(p.Stay, func(path string) bool { return forkbox.Within(path, e.Path) })
}

// covered is where something was mounted over what a box changed.
func covered(e *Entry) string {
	if s, ok := e.Sides.(interface{ Covered() string }); ok {
		return s.Covered()
	}
	return ""
}

func (p *Plan) step(ctx context.Context, e *Entry) (Step, error) {
	switch e.Kind {
	case forkbox.Deleted:
		return p.deletion(ctx, e)
	case forkbox.Renamed:
		return p.move(e)
	case forkbox.Added:
		return p.addition(ctx, e)
	case forkbox.Mode:
		if e.Link == "" {
			return p.attributes(ctx, e)
		}
	}
	return p.replacement(ctx, e)
}

// tag records with every item whose change it is, and what the box had.
func (p *Plan) tag(e *Entry, s *Step) error {
	t := Tag{Kind: e.Kind, Merged: s.Landed.Merged, Partial: s.Landed.Partial, Drifted: e.Drifted, Open: p.View.Unresolved(e.Path)}
	if e.Kind != forkbox.Deleted {
		n, err := e.New()
		if err != nil {
			return err
		}
		t.Box = n.Identity
	}
	raw, err := json.Marshal(t)
	for i := range s.Items {
		s.Items[i].Tag = raw
		s.Items[i].KeepOwner = p.KeepOwner
	}
	return err
}

func (p *Plan) caution(e *Entry) error {
	var n forkbox.Node
	if e.Kind != forkbox.Deleted {
		var err error
		if n, err = e.New(); err != nil {
			return err
		}
	}
	whys := scope.Cautions(e.Change, n, p.View.Root, p.View.Box.Owner.Home)
	for _, why := range scope.Named(e.Change, p.Runs) {
		if !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	for _, why := range whys {
		p.Cautions = append(p.Cautions, forkbox.Caution{Path: e.Path, Why: why})
	}
	return nil
}

// conflict decides a path that cannot be merged: refused, or as the caller
// chose. whole says what landing the box's version takes.
func (p *Plan) conflict(e *Entry, why string, whole func() (Step, error)) (Step, error) {
	switch p.Spec.Conflict {
	case forkbox.Theirs:
		return whole()
	case forkbox.Ours:
		p.Left++
		p.stayWith(e)
		return Step{}, nil
	case forkbox.Markers:
		why += "; it cannot be shown with markers: choose theirs or ours"
	}
	p.stayWith(e)
	return p.refuse(e, why)
}

// stayWith has what the box made in a directory stay with it in the box: there
// is no place for it in reality.
func (p *Plan) stayWith(dir *Entry) {
	if dir.Type == "dir" && (dir.Kind == forkbox.Added || dir.Kind == forkbox.Type) {
		p.lost = dir.Path
	}
}

// conflictInLines is a conflict of texts.
func (p *Plan) conflictInLines(e *Entry, why string, whole func() (Step, error)) (Step, error) {
	if c := p.Spec.Conflict; c == forkbox.Refuse || c == forkbox.Markers {
		p.Lines++
	}
	return p.conflict(e, why, whole)
}

// maxConflicts is how many paths a refusal names. More of them are not read,
// and there may be as many as the box has changes.
const maxConflicts = 10000

func (p *Plan) refuse(e *Entry, why string) (Step, error) {
	if p.Refused++; len(p.Conflicts) < maxConflicts {
		p.Conflicts = append(p.Conflicts, forkbox.Caution{Path: e.Path, Why: why})
	}
	return Step{}, nil
}

// impossible is a conflict that the box cannot win.
func (p *Plan) impossible(e *Entry, why string) (Step, error) {
	if p.Spec.Conflict == forkbox.Ours {
		p.Left++
		return Step{}, nil
	}
	p.Hopeless++
	return p.refuse(e, why)
}

// Rootless says whether this process can give files to others.
func Rootless() bool { return os.Geteuid() != 0 }

// Parent plans a directory that is not selected and has to be there for what
// is.
func (p *Plan) Parent(e *Entry) (land.Item, error) {
	s, err := p.put(e, nil)
	if err == nil {
		err = p.tag(e, &s)
	}
	if err != nil {
		return land.Item{}, err
	}
	return s.Items[0], nil
}
