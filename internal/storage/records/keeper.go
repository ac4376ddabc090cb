package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// soon is how long after the ledger heard of something its record is written:
// most boxes are gone by then, and never have one.
const soon = 3 * time.Second

// Keeper is a ledger that keeps records of what it is told.
type Keeper struct {
	forkbox.Ledger
	Kept   Files
	stored func(box string) bool // whether it has files of its own
	log    *slog.Logger

	// files is held while a record is written or dropped: one that is dropped
	// is not written again.
	files   sync.Mutex
	written map[string][sha256.Size]byte

	mu        sync.Mutex
	all       bool // look at everything
	boxes     map[string]bool
	templates map[string]forkbox.Template
	timer     *time.Timer
	closed    bool
}

// Keep keeps records in dir of what a ledger is told. stored says whether a box
// has files of its own.
func Keep(l forkbox.Ledger, dir string, stored func(box string) bool, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{
		Ledger: l, Kept: Files{dir}, stored: stored, log: log, written: map[string][sha256.Size]byte{},
		boxes: map[string]bool{}, templates: map[string]forkbox.Template{},
	}
	if _, err := os.Lstat(dir); err == nil {
		return k, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, forkbox.Wrap("open the store", err)
	}
	k.mark(func() { k.all = true }) // it is from before there were records
	return k, nil
}

// mark notes that something has to be written.
func (k *Keeper) mark(what func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	what()
	if k.timer == nil && !k.closed {
		k.timer = time.AfterFunc(soon, k.flush)
	}
}

func (k *Keeper) markBox(id string) { k.mark(func() { k.boxes[id] = true }) }

// End writes what is to be written.
func (k *Keeper) End() {
	k.mu.Lock()
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.flush()
}

// CatchUp writes the records that are not as the ledger is: a daemon that was
// killed may have owed some.
func (k *Keeper) CatchUp() { k.mark(func() { k.all = true }) }

func (k *Keeper) flush() {
	k.mu.Lock()
	all, boxes, templates := k.all, k.boxes, k.templates
	k.all, k.boxes, k.templates, k.timer = false, map[string]bool{}, map[string]forkbox.Template{}, nil
	k.mu.Unlock()
	ctx := context.Background()
	if all {
		k.note("all of them", k.addAll(ctx, boxes, templates))
	}
	for id := range boxes {
		k.note(id, k.writeBox(ctx, id))
	}
	for id, t := range templates {
		k.note(id, k.writeTemplate(t))
	}
}

// note: a record that cannot be written, on a full disk say, does no harm now.
func (k *Keeper) note(what string, err error) {
	if err != nil {
		k.log.Warn("cannot write the record of a box or template", "what", what, "error", err)
	}
}

func (k *Keeper) addAll(ctx context.Context, boxes map[string]bool, templates map[string]forkbox.Template) error {
	list, err := k.Ledger.Boxes(ctx, nil)
	if err != nil {
		return err
	}
	for _, b := range list {
		boxes[b.ID] = true
	}
	named, err := k.Ledger.Templates(ctx, nil)
	for _, t := range named {
		templates[t.ID] = t
	}
	return err
}

// writeBox writes the record of a box that has something to lose.
func (k *Keeper) writeBox(ctx context.Context, id string) error {
	k.files.Lock()
	defer k.files.Unlock()
	box, err := k.Ledger.Box(ctx, id)
	if forkbox.CodeOf(err) == forkbox.NotFound {
		return nil
	}
	if err != nil || box.State == forkbox.Creating || box.State == forkbox.Removing {
		return err
	}
	if len(box.Layers) == 0 && box.Base.IsReality() && !k.stored(id) {
		return nil
	}
	snapshots, err := k.Ledger.Snapshots(ctx, id)
	if err != nil {
		return err
	}
	return k.put(boxPrefix, id, forkbox.BoxRecord{Box: lasting(box), Snapshots: snapshots})
}

// lasting is a box without what changes with every command in it.
func lasting(box forkbox.Box) forkbox.Box {
	box.State, box.Last, box.Paused, box.Note, box.Death, box.Boot = forkbox.Stopped, nil, "", "", nil, ""
	return box
}

func (k *Keeper) writeTemplate(t forkbox.Template) error {
	k.files.Lock()
	defer k.files.Unlock()
	if _, err := k.Ledger.Template(context.Background(), t.Owner.UID, t.Name); err != nil {
		return nil // it is gone
	}
	return k.put(templatePrefix, t.ID, t)
}

// put writes a record that differs from what is there.
func (k *Keeper) put(prefix, id string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if k.written[prefix+id] == sum {
		return nil
	}
	if there, err := os.ReadFile(k.Kept.path(prefix, id)); err != nil || !bytes.Equal(there, text) {
		if err := k.Kept.write(prefix, id, text); err != nil {
			return err
		}
	}
	k.written[prefix+id] = sum
	return nil
}

// forget drops the record of what is about to go.
func (k *Keeper) forget(prefix, id string) {
	k.files.Lock()
	defer k.files.Unlock()
	delete(k.written, prefix+id)
	k.note(id, k.Kept.drop(prefix, id))
}
