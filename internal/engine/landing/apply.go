package landing

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/owned"
	"github.com/forkbox/forkbox/internal/review/scope"
	"github.com/forkbox/forkbox/internal/storage/held"
	"github.com/forkbox/forkbox/internal/storage/land"
	"github.com/forkbox/forkbox/internal/trace"
)

// Apply lands changes of a box in reality: all that are meant, or none. A dry
// run says what would land; its receipt has no id.
func (m *Manager) Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	const op = "apply"
	if err := checkApply(op, spec); err != nil {
		return forkbox.Receipt{}, err
	}
	release, err := m.HoldReality(ctx, op)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer release()
	var receipt forkbox.Receipt
	_, err = m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := onReality(op, *box); err != nil {
			return err
		}
		if err := m.adaptAtRest(ctx, op, h, box); err != nil {
			return err
		}
		m.settleInterrupted(context.WithoutCancel(ctx))
		step := trace.Step(ctx, "look at changes")
		a, err := m.newApplication(ctx, h, *box, who, spec)
		step.End(err)
		if err != nil {
			return err
		}
		receipt, err = a.run(ctx)
		return core.NameBox(err, box.Name)
	})
	return receipt, err
}

func checkApply(op string, spec forkbox.ApplySpec) error {
	switch spec.Conflict {
	case forkbox.Refuse, forkbox.Theirs, forkbox.Ours, forkbox.Markers:
	default:
		return forkbox.Errorf(forkbox.Invalid, op, "there is no way %q to settle conflicts", spec.Conflict).
			Hint("use --conflict theirs, ours or markers")
	}
	seen := map[string]bool{}
	for _, h := range spec.Hunks {
		p := review.HunkPath(h)
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			return forkbox.Errorf(forkbox.Invalid, op, "%q is not a clean absolute path", p)
		case len(h.Hunks) == 0:
			return forkbox.Errorf(forkbox.Invalid, op, "no hunk of %q is named", p)
		case seen[p]:
			return forkbox.Errorf(forkbox.Invalid, op, "hunks of %q are named twice", p)
		}
		seen[p] = true
	}
	return spec.Check(op)
}

// application is one apply while it goes on.
type application struct {
	*Manager
	h        *core.Handle
	box      forkbox.Box
	spec     forkbox.ApplySpec
	view     *review.View
	plan     *review.Plan
	chosen   *review.Chosen
	hash     *review.Hash
	receipt  forkbox.Receipt
	config   land.Config
	landing  *land.Landing // nil in a dry run
	parents  []parent
	kept     keptBases
	paths    []string        // that landed, for a commit
	moves    bool            // directories are moved
	flipping bool            // reality may have been touched
	settled  []string        // that a sync had left undecided, and landed
	indexes  []landedIndex   // see keepIndexes
	dirs     map[string]bool // that something landed in, and whether all that was done to each since the fence is the box's
	began    time.Time
	sweep    *scope.Sweep
	goes     *held.Search // what is replaced, deleted or moved
	denied   denied
}

func (m *Manager) newApplication(ctx context.Context, h *core.Handle, box forkbox.Box, who forkbox.Owner, spec forkbox.ApplySpec) (*application, error) {
	view, err := m.changes.View(ctx, box)
	if err != nil {
		return nil, err
	}
	if spec.Commit && !bases.InGit(view.Root) {
		return nil, forkbox.Errorf(forkbox.Invalid, "apply", "the box's directory %q is not in a git work tree: nothing can be committed", box.Dir)
	}
	if spec.Hooks && !spec.Commit {
		return nil, forkbox.Errorf(forkbox.Invalid, "apply", "hooks run for a commit, and none was asked for").
			Hint("forkbox apply --commit --hooks %s", box.Name)
	}
	a := &application{Manager: m, h: h, box: box, spec: spec, view: view, hash: review.NewHash(), sweep: scope.NewSweep(view.Root), goes: held.NewSearch(), began: m.core.FenceNow()}
	a.chosen = review.Choose(spec.Selection, spec.Hunks, bases.NewSorter(view.Root, box))
	a.plan = &review.Plan{View: view, Spec: spec, Chosen: a.chosen, KeepOwner: review.Rootless()}
	if bases.InGit(view.Root) {
		if a.plan.Runs, err = (git.Repo{Root: view.Root, Owner: who}).Runs(ctx); err != nil {
			return nil, forkbox.Wrap("ask git what it runs", err)
		}
	}
	view.Passed = a.pass
	a.receipt = forkbox.Receipt{
		Box: box.ID, BoxName: box.Name, Owner: who, State: forkbox.Landing, Created: m.core.Now(),
		Message: spec.Message, Workdir: view.Root,
	}
	return a, nil
}

func (a *application) run(ctx context.Context) (forkbox.Receipt, error) {
	if err := a.leaveHalves(ctx); err != nil {
		return forkbox.Receipt{}, err
	}
	defer a.denied.close()
	if err := a.denied.open(a.receipt.Owner); err != nil {
		return forkbox.Receipt{}, err
	}
	if a.spec.DryRun {
		err := a.stage(ctx)
		if err == nil {
			err = a.agree(true)
		}
		a.receipt.State = ""
		return a.receipt, err
	}
	if err := a.open(ctx); err != nil {
		return forkbox.Receipt{}, err
	}
	defer a.config.Root.Close()
	defer a.kept.close()
	err := a.stage(ctx)
	if err == nil {
		err = a.agree(a.spec.Yes)
	}
	if err == nil && a.receipt.Paths > 0 {
		err = a.land(context.WithoutCancel(ctx))
	} else {
		err = errors.Join(err, a.landing.Abort())
	}
	ctx = context.WithoutCancel(ctx)
	switch {
	case a.receipt.State == forkbox.Applied:
		ctx, step := trace.Start(ctx, "keep what landed")
		receipt, late := a.landed(ctx)
		step.End(late)
		return receipt, errors.Join(err, late)
	case a.flipping: // it was rolled back, unless another process got in the way
		return forkbox.Receipt{}, errors.Join(err, a.settleReceipt(ctx, a.receipt))
	}
	return a.nothing(ctx, err)
}

// land changes reality. From here on a caller who gives up changes nothing.
func (a *application) land(ctx context.Context) (err error) {
	ctx, step := trace.Start(ctx, "land")
	defer func() { step.End(err) }()
	if !a.moves {
		return a.flip(ctx)
	}
	err = a.whileMoving(ctx, "apply", a.h, &a.box, a.receipt.ID, func() error { return a.flip(ctx) })
	if !a.flipping { // the box cannot be brought to rest
		return errors.Join(err, a.landing.Abort())
	}
	return err
}

func (a *application) flip(ctx context.Context) error {
	a.flipping = true
	forkbox.ReportOf(ctx)(forkbox.Progress{Step: "landing", Total: int64(a.receipt.Paths), Unit: "paths"})
	if err := a.landing.Commit(ctx); err != nil {
		return err
	}
	a.receipt.State = forkbox.Applied
	a.receipt.Bytes, _ = land.Kept(a.config.Dir)
	if err := a.core.Ledger.UpdateReceipt(ctx, a.receipt, a.applied(a.receipt)); err != nil {
		a.core.Log.ErrorContext(ctx, "cannot record that an apply landed; a restart finds it", "receipt", a.receipt.ID, "box", a.box.ID, "error", err)
	}
	return nil
}

// open writes down that an apply is about to happen, then begins it.
func (a *application) open(ctx context.Context) error {
	if a.core.Receipts == "" {
		return forkbox.Errorf(forkbox.Unsupported, "apply", "there is no place to keep receipts in")
	}
	a.receipt.ID = core.NewID()
	if err := a.core.Ledger.AddReceipt(ctx, a.receipt); err != nil {
		return err
	}
	err := a.memories.remember(a.receipt)
	if err == nil {
		a.config, err = a.LandingConfig(a.receipt)
	}
	if err == nil {
		a.landing, err = land.Begin(ctx, a.config)
	}
	if err != nil {
		return errors.Join(err, a.memories.forget(context.WithoutCancel(ctx), a.receipt, a.failed(a.receipt, err.Error())))
	}
	return nil
}

// ownersHere asks the packages of this machine. Only an apply that changes what
// was there outside the workspace waits for that.
func ownersHere(paths []string) map[string][]string { return owned.By("/", paths) }

// stage goes through the changes and prepares each.
func (a *application) stage(ctx context.Context) (err error) {
	ctx, step := trace.Start(ctx, "stage")
	defer func() { step.End(err) }()
	report, looked := forkbox.ReportOf(ctx), int64(0)
	err = a.view.Each(ctx, a.chosen, func(x *review.Entry) error {
		if looked++; looked%reportEvery == 1 {
			report(forkbox.Progress{Step: "staging", Done: looked - 1, Unit: "paths"})
		}
		if err := a.bring(ctx, x.Path); err != nil {
			return err
		}
		step, err := a.plan.Next(ctx, x)
		if err == nil {
			err = a.take(ctx, x, step)
		}
		return err
	})
	a.receipt.Hash, a.receipt.Cautions = a.hash.String(), slices.Concat(a.spec.Cautions, a.plan.Cautions, a.sweep.Cautions(ownersHere))
	a.receipt.Left = a.plan.Left
	all := a.view.Summary
	a.receipt.Stayed.Workspace += all.Workspace.Total
	a.receipt.Stayed.System += all.System.Total
	a.receipt.Stayed.Noise += all.Noise.Total
	return err
}

// reportEvery is how many paths are staged between two words about it.
const reportEvery = 64

// take stages one step. What is hashed is what was staged: a box that goes on
// changing cannot land something else than it was asked for.
func (a *application) take(ctx context.Context, x *review.Entry, step review.Step) error {
	sum, hashed := step.Sum, step.Sum != nil
	for _, item := range step.Items {
		a.moves = a.moves || item.Op == land.Move
		tellGoing(a.goes, item)
		if a.denied.has(item) || a.landing == nil {
			continue
		}
		staged, err := a.landing.Stage(ctx, item)
		if err != nil {
			return err
		}
		if !hashed && item.Op == land.Put && item.Content != nil && item.Link == "" {
			sum = &staged
		}
	}
	if sum == nil {
		content, err := review.ContentSum(ctx, x)
		if err != nil {
			return err
		}
		sum = &content
	}
	if err := a.hash.Add(x, *sum); err != nil || len(step.Items) == 0 {
		return err
	}
	a.countIndex(step, *sum)
	return a.count(x, step)
}

// countDir remembers a directory that something lands in. The landing itself may
// have touched it by now; before that only reality had.
func (a *application) countDir(dir string) {
	if _, counted := a.dirs[dir]; counted {
		return
	}
	if a.dirs == nil {
		a.dirs = map[string]bool{}
	}
	a.dirs[dir] = !a.view.DirDrifted(dir, a.began)
}

func (a *application) count(x *review.Entry, step review.Step) error {
	a.receipt.Paths++
	*a.receipt.Stayed.Of(x.Scope)-- // until all are counted
	a.sweep.Add(x.Change)
	if x.Kind == forkbox.Deleted {
		step.Landed.Below = x.Entries
	}
	if step.Landed.Merged {
		a.receipt.Merged++
	}
	if len(a.receipt.Entries) < shownEntries {
		a.receipt.Entries = append(a.receipt.Entries, step.Landed)
	}
	a.toCommit(x)
	a.countDir(path.Dir(x.Path))
	if a.view.Unresolved(x.Path) {
		a.settled = append(a.settled, x.Path)
	}
	if a.landing == nil || step.Kept == nil || !step.Landed.Partial && !step.Landed.Merged {
		return nil
	}
	return a.kept.add(a.core.Receipts, keptBase{[]byte(x.Path), step.Kept, step.KeptMode})
}

// toCommit remembers what a commit is to have. A directory means all that is
// in it, so one whose attributes changed, which git does not keep, is none.
func (a *application) toCommit(x *review.Entry) {
	if !a.spec.Commit || x.Kind == forkbox.Mode && x.Type == "dir" {
		return
	}
	a.paths = append(a.paths, x.Path)
	if x.From != "" {
		a.paths = append(a.paths, x.From)
	}
}

// shownEntries is how many paths a receipt lists by itself; its journal has
// all of them.
const shownEntries = 1000

// parent is a directory that the box made and that was not selected. It lands
// when something below it does.
type parent struct {
	path  string
	scope forkbox.Scope
	item  *land.Item // nil where it cannot: it was moved, or was a file
}

// pass remembers the directories that what comes next may lie in.
func (a *application) pass(x *review.Entry) error {
	a.leave(x.Path)
	p := parent{path: x.Path, scope: x.Scope}
	switch x.Kind {
	case forkbox.Added:
		step, err := a.plan.Parent(x)
		if err != nil {
			return err
		}
		p.item = &step
	case forkbox.Renamed, forkbox.Type:
	default:
		return nil
	}
	a.parents = append(a.parents, p)
	return nil
}

// leave forgets directories that path does not lie in.
func (a *application) leave(path string) {
	for n := len(a.parents); n > 0 && !forkbox.Within(path, a.parents[n-1].path); n-- {
		a.parents = a.parents[:n-1]
	}
}

// bring lands the directories that path lies in, when the box made them.
func (a *application) bring(ctx context.Context, path string) error {
	a.leave(path)
	for i, p := range a.parents {
		if p.path == "" {
			continue // there already
		}
		if p.item == nil {
			return forkbox.Errorf(forkbox.Invalid, "apply", "%q lies in %q, which the box moved or replaced and which is not to land", path, p.path).
				Hint("apply it as well: forkbox apply %s %s", a.box.Name, p.path)
		}
		if !a.denied.has(*p.item) && a.landing != nil {
			if _, err := a.landing.Stage(ctx, *p.item); err != nil {
				return err
			}
		}
		a.receipt.Paths++
		*a.receipt.Stayed.Of(p.scope)--
		a.parents[i].path = ""
	}
	return nil
}

// agree checks all that could keep the apply from landing. Nothing has been
// touched yet.
func (a *application) agree(yes bool) error {
	const op = "apply"
	if err := a.chosen.Unmet(op); err != nil {
		return err
	}
	if a.spec.Reviewed != "" && a.spec.Reviewed != a.receipt.Hash {
		return forkbox.Errorf(forkbox.Conflict, op, "the box is not as it was reviewed: its hash is %s now", a.receipt.Hash).
			Hint("look again: forkbox diff %s", a.box.Name).
			Hint("the hash is of one selection: give apply the same paths, and --all, as diff had")
	}
	if err := a.plan.Whole(op); err != nil && a.plan.Refused == 0 {
		return err
	}
	if a.plan.Refused > 0 {
		return inConflict(op, a.box.Name, a.plan)
	}
	if err := a.denied.err(op, a.box.Name); err != nil {
		return err
	}
	if err := notHeld(op, a.goes); err != nil {
		return err
	}
	if !yes && len(a.receipt.Cautions) > 0 {
		err := forkbox.Errorf(forkbox.Unconfirmed, op, "the changes deserve a second look") // how to say yes is the client's to tell
		err.Items, err.Hash = a.receipt.Cautions, a.receipt.Hash
		return err
	}
	return nil
}

// tellGoing tells what an item takes away: a file that is replaced or deleted,
// a directory that goes with all that is in it.
func tellGoing(goes *held.Search, item land.Item) {
	switch {
	case item.Op == land.Put && item.Expect == nil:
		goes.New(item.Path)
	case item.Op == land.Put:
		goes.File(item.Path)
	case item.Op == land.Remove:
		goes.File(item.Path)
		goes.Dir(item.Path)
	case item.Op == land.Move:
		goes.Dir(item.From)
		goes.New(item.Path)
	}
}

// notHeld refuses to take files from under a process that writes to them: what
// it writes next would be lost, and a database damaged.
func notHeld(op string, goes *held.Search) error {
	found := goes.Find()
	if len(found) == 0 {
		return nil
	}
	err := forkbox.Errorf(forkbox.Busy, op, "running processes write to what would be replaced").
		Hint("end them, or leave these paths out: name those that are to change")
	err.Items = found
	return err
}

// nothing forgets an apply that did not happen.
func (a *application) nothing(ctx context.Context, cause error) (forkbox.Receipt, error) {
	var told []forkbox.Event
	if cause != nil {
		told = append(told, a.failed(a.receipt, "nothing landed: "+cause.Error()))
	}
	err := a.memories.forget(ctx, a.receipt, told...)
	a.receipt.ID, a.receipt.State = "", ""
	if cause != nil {
		return forkbox.Receipt{}, errors.Join(cause, err)
	}
	return a.receipt, err
}

// landed is what follows a landing.
func (a *application) landed(ctx context.Context) (forkbox.Receipt, error) {
	r := &a.receipt
	a.keepBases(ctx)
	a.keepIndexes(ctx)
	for dir, ours := range a.dirs {
		if ours {
			a.changes.NoteDir(a.box.ID, dir)
		}
	}
	if a.spec.Commit {
		if err := a.commit(ctx); err != nil {
			return *r, err
		}
	}
	if err := a.settleUnresolved(ctx); err != nil {
		return *r, err
	}
	a.tellSiblings(ctx)
	a.expire(ctx)
	if a.h.Rest == nil {
		a.h.Rest = func() { a.boxes.ForgetReality(ctx, a.h, &a.box) }
	}
	return *r, nil
}

// keepBases: without one a merge is refused some day, and nothing is lost.
func (a *application) keepBases(ctx context.Context) {
	warn := func(err error) {
		if err != nil {
			a.core.Log.WarnContext(ctx, "cannot keep a base", "box", a.box.ID, "error", err)
		}
	}
	warn(a.kept.each(func(k keptBase) error {
		warn(a.changes.LandedBook(a.receipt.ID).PinBytes(string(k.Path), k.Content, k.Mode))
		return nil
	}))
}

// settleUnresolved forgets what a sync left undecided and has landed now.
func (a *application) settleUnresolved(ctx context.Context) error {
	if len(a.settled) == 0 {
		return nil
	}
	a.box.Unresolved = pathsWithout(a.box.Unresolved, a.settled)
	return a.core.Ledger.UpdateBox(ctx, a.box)
}
