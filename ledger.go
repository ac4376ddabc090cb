package forkbox

import "context"

// Ledger is the durable record. Every state change is written here before it
// is acted on, so that after a crash the ledger knows of everything that may
// exist.
type Ledger interface {
	// AddBox records a new box. A taken name is an Exists error; names are
	// unique per owner.
	AddBox(ctx context.Context, box Box) error
	// UpdateBox replaces the record of an existing box, except its
	// environment: a box keeps the one it was added with.
	UpdateBox(ctx context.Context, box Box) error
	// DeleteBox forgets a box and its execs. It can be repeated.
	DeleteBox(ctx context.Context, id string) error
	// Box finds one by exact id.
	Box(ctx context.Context, id string) (Box, error)
	// Boxes lists those of one owner, oldest first; a nil uid means all users'.
	// With states given, only boxes in one of them: a restart has to look at
	// the few that were busy, not at ten thousand at rest.
	Boxes(ctx context.Context, uid *int, states ...State) ([]Box, error)
	// FindBoxes lists those of one owner whose id or name begins with prefix,
	// exact matches first, then oldest first. It may leave off all but the
	// first few.
	FindBoxes(ctx context.Context, uid int, prefix string) ([]Box, error)

	// AddExec records a new exec and gives it its ID: "1", "2", … within the box.
	AddExec(ctx context.Context, exec Exec) (Exec, error)
	// UpdateExec replaces the record of an existing exec.
	UpdateExec(ctx context.Context, exec Exec) error
	Exec(ctx context.Context, box, id string) (Exec, error)
	// Execs lists those of a box, oldest first.
	Execs(ctx context.Context, box string) ([]Exec, error)
	// LastExecs is the latest exec of each box of one owner that has any, by
	// the box's id.
	LastExecs(ctx context.Context, uid int) (map[string]Exec, error)

	// AddReceipt records an apply before it does anything.
	AddReceipt(ctx context.Context, r Receipt) error
	// UpdateReceipt replaces the record of an existing receipt.
	UpdateReceipt(ctx context.Context, r Receipt) error
	// DeleteReceipt forgets one. It can be repeated.
	DeleteReceipt(ctx context.Context, id string) error
	// Receipt finds one by exact id.
	Receipt(ctx context.Context, id string) (Receipt, error)
	// Receipts lists those of one owner, newest first; a nil uid means all
	// users'. With states given, only those in one of them. They outlive their
	// box.
	Receipts(ctx context.Context, uid *int, states ...ReceiptState) ([]Receipt, error)
	// ReceiptsOf lists those of one box, oldest first.
	ReceiptsOf(ctx context.Context, box string) ([]Receipt, error)

	// AddSnapshot records a snapshot and, in one step with it, what it makes of
	// its box: a crash leaves both or neither. A taken name is an Exists error.
	AddSnapshot(ctx context.Context, s Snapshot, box Box) error
	// TakeBack forgets a snapshot and, in one step with it, what it made of its
	// box.
	TakeBack(ctx context.Context, snapshot string, box Box) error
	// UpdateSnapshot replaces the record of an existing snapshot.
	UpdateSnapshot(ctx context.Context, s Snapshot) error
	// DeleteSnapshot forgets one. It can be repeated.
	DeleteSnapshot(ctx context.Context, id string) error
	// Snapshot finds one of a box by its name or id; without either, the last
	// that is not automatic.
	Snapshot(ctx context.Context, box, name string) (Snapshot, error)
	// SnapshotNames lists the names of a box's snapshots, in any order.
	SnapshotNames(ctx context.Context, box string) ([]string, error)
	// Snapshots lists those of a box, oldest first. They go with it.
	Snapshots(ctx context.Context, box string) ([]Snapshot, error)
	// SnapshotsOf lists those of one owner, oldest first; a nil uid means all
	// users'.
	SnapshotsOf(ctx context.Context, uid *int) ([]Snapshot, error)

	// AddTemplate records a new template. A taken name is an Exists error;
	// names are unique per owner.
	AddTemplate(ctx context.Context, t Template) error
	// UpdateTemplate replaces the record of an existing template.
	UpdateTemplate(ctx context.Context, t Template) error
	// DeleteTemplate forgets one. It can be repeated.
	DeleteTemplate(ctx context.Context, id string) error
	// Template finds one by its name.
	Template(ctx context.Context, uid int, name string) (Template, error)
	// Templates lists those of one owner, oldest first; a nil uid means all
	// users'.
	Templates(ctx context.Context, uid *int) ([]Template, error)

	// Stacks lists what every box, snapshot and template is made of, all as of
	// one moment: while one of them goes another may come to need the same.
	Stacks(ctx context.Context) ([]Stack, error)

	// KnowLayers records that layers, or roots, are about to be made. Only those
	// are ever swept: what is in the store and not here is not the ledger's to
	// delete. A layer that AddSnapshot says a box's writes become is recorded
	// with that.
	KnowLayers(ctx context.Context, layers ...string) error
	// KnownLayers lists them, in any order.
	KnownLayers(ctx context.Context) ([]string, error)
	// ForgetLayers forgets some that are gone. It can be repeated.
	ForgetLayers(ctx context.Context, layers ...string) error

	// AddEvent records an event and gives it its id.
	AddEvent(ctx context.Context, e Event) (Event, error)
	// Events lists those of one owner that came after an id, oldest first; a
	// nil uid means all users'. With a box only that one's. They outlive their
	// box for a while; no more than limit are returned, the latest of them.
	Events(ctx context.Context, uid *int, box string, after int64, limit int) ([]Event, error)

	// SaveConns records connections, or what became of those it has by id, all
	// in one step.
	SaveConns(ctx context.Context, conns []Conn) error
	// Conns lists those of one owner that came after an id, oldest first; a nil
	// uid means all users'. With a box only that one's. They outlive their box
	// for a while; no more than limit are returned, the latest of them.
	Conns(ctx context.Context, uid *int, box string, after int64, limit int) ([]Conn, error)
	// LoseConns marks what is recorded as open as lost: the daemon that served
	// it is gone.
	LoseConns(ctx context.Context) error

	// AddRace records a new race. A taken name is an Exists error; names are
	// unique per owner.
	AddRace(ctx context.Context, r Race) error
	// UpdateRace replaces the record of an existing race, with all its entries.
	UpdateRace(ctx context.Context, r Race) error
	// SaveEntries replaces some entries of an existing race, by their names: a
	// race of a hundred changes one of them at a time.
	SaveEntries(ctx context.Context, race string, entries []Entry) error
	// DeleteRace forgets one. It can be repeated.
	DeleteRace(ctx context.Context, id string) error
	// FindRaces lists those of one owner whose id or name begins with prefix,
	// exact matches first, then newest first. It may leave off all but the
	// first few.
	FindRaces(ctx context.Context, uid int, prefix string) ([]Race, error)
	// Races lists those of one owner, newest first; a nil uid means all users'.
	// With states given, only those in one of them.
	Races(ctx context.Context, uid *int, states ...RaceState) ([]Race, error)

	Close() error
}

// Stack is what something is made of.
type Stack struct {
	Layers []string
	Saving string // a layer that is becoming one of a box's
	Root   string // of a base that is not reality
}
