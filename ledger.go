package forkbox

import (
	"context"
	"time"
)

// Ledger is the durable record. Every state change is written here before it
// is acted on, so that after a crash the ledger knows of everything that may
// exist.
//
// A write takes the events that it is: they are recorded in one step with it, or
// neither is. Where it changed nothing (what is to be forgotten is not there)
// nothing is told.
type Ledger interface {
	// AddBox records a new box. A taken name is an Exists error; names are
	// unique per owner.
	AddBox(ctx context.Context, box Box, tell ...Event) error
	// UpdateBox replaces the record of an existing box, except its
	// environment: a box keeps the one it was added with.
	UpdateBox(ctx context.Context, box Box, tell ...Event) error
	// DeleteBox forgets a box and its execs. It can be repeated.
	DeleteBox(ctx context.Context, id string, tell ...Event) error
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
	// What is told with it is told of that exec.
	AddExec(ctx context.Context, exec Exec, tell ...Event) (Exec, error)
	// UpdateExec replaces the record of an existing exec.
	UpdateExec(ctx context.Context, exec Exec, tell ...Event) error
	Exec(ctx context.Context, box, id string) (Exec, error)
	// Execs lists those of a box, oldest first.
	Execs(ctx context.Context, box string) ([]Exec, error)
	// LastExecs is the latest exec of each box of one owner that has any, by
	// the box's id.
	LastExecs(ctx context.Context, uid int) (map[string]Exec, error)

	// AddReceipt records an apply before it does anything.
	AddReceipt(ctx context.Context, r Receipt, tell ...Event) error
	// UpdateReceipt replaces the record of an existing receipt.
	UpdateReceipt(ctx context.Context, r Receipt, tell ...Event) error
	// DeleteReceipt forgets one. It can be repeated.
	DeleteReceipt(ctx context.Context, id string, tell ...Event) error
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
	AddSnapshot(ctx context.Context, s Snapshot, box Box, tell ...Event) error
	// TakeBack forgets a snapshot and, in one step with it, what it made of its
	// box.
	TakeBack(ctx context.Context, snapshot string, box Box, tell ...Event) error
	// UpdateSnapshot replaces the record of an existing snapshot.
	UpdateSnapshot(ctx context.Context, s Snapshot) error
	// DeleteSnapshot forgets one. It can be repeated.
	DeleteSnapshot(ctx context.Context, id string, tell ...Event) error
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
	AddTemplate(ctx context.Context, t Template, tell ...Event) error
	// UpdateTemplate replaces the record of an existing template.
	UpdateTemplate(ctx context.Context, t Template, tell ...Event) error
	// DeleteTemplate forgets one. It can be repeated.
	DeleteTemplate(ctx context.Context, id string, tell ...Event) error
	// Template finds one by its name.
	Template(ctx context.Context, uid int, name string) (Template, error)
	// Templates lists those of one owner, oldest first; a nil uid means all
	// users'.
	Templates(ctx context.Context, uid *int) ([]Template, error)

	// SaveStill records a still, or replaces its record.
	SaveStill(ctx context.Context, s Still) error
	// DeleteStill forgets one. It can be repeated.
	DeleteStill(ctx context.Context, id string) error
	// Stills lists those of one owner, oldest first; a nil uid means all users'.
	Stills(ctx context.Context, uid *int) ([]Still, error)

	// Stacks lists what every box, snapshot, template and still is made of, all as of
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

	// AddEvent records an event that no other record changes with, and gives it
	// its id.
	AddEvent(ctx context.Context, e Event) (Event, error)
	// Events lists some, oldest first. They outlive their box for a while. An
	// event is never seen before one with a lower id.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// LastEvent is the id of the latest, 0 if there never was one.
	LastEvent(ctx context.Context) (int64, error)
	// News is closed when the next event is there to be read.
	News() <-chan struct{}

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
	AddRace(ctx context.Context, r Race, tell ...Event) error
	// UpdateRace replaces the record of an existing race, with all its entries.
	UpdateRace(ctx context.Context, r Race, tell ...Event) error
	// SaveEntries replaces some entries of an existing race, by their names: a
	// race of a hundred changes one of them at a time.
	SaveEntries(ctx context.Context, race string, entries []Entry, tell ...Event) error
	// DeleteRace forgets one. It can be repeated.
	DeleteRace(ctx context.Context, id string, tell ...Event) error
	// FindRaces lists those of one owner whose id or name begins with prefix,
	// exact matches first, then newest first. It may leave off all but the
	// first few.
	FindRaces(ctx context.Context, uid int, prefix string) ([]Race, error)
	// Races lists those of one owner, newest first; a nil uid means all users'.
	// With states given, only those in one of them.
	Races(ctx context.Context, uid *int, states ...RaceState) ([]Race, error)

	AccessLedger

	// CountBoxes says how many boxes are in which state, of all users.
	CountBoxes(ctx context.Context) (map[State]int, error)
	// Check writes, and changes nothing: the error says why the ledger cannot be
	// written.
	Check(ctx context.Context) error
	// OnWrite has a function be told how long each write took. It is called before
	// the first.
	OnWrite(took func(time.Duration))

	Close() error
}

// AccessLedger is the part of a ledger about who may do what, and who did.
type AccessLedger interface {
	// AddToken records a new token, with its hash.
	AddToken(ctx context.Context, t Token, tell ...Event) error
	// UpdateTokens replaces the records of existing tokens, except their hashes,
	// all in one step. Those that are gone stay so.
	UpdateTokens(ctx context.Context, tokens []Token, tell ...Event) error
	// DeleteToken forgets one. It can be repeated.
	DeleteToken(ctx context.Context, id string) error
	// Tokens lists all users', oldest first, with their hashes.
	Tokens(ctx context.Context) ([]Token, error)

	// SaveCalls adds to the audit trail, or says what became of those it has by
	// id, all in one step.
	SaveCalls(ctx context.Context, calls []Call) error
	// Calls lists entries of the audit trail, oldest first.
	Calls(ctx context.Context, filter CallFilter) ([]Call, error)
	// LastCall is the highest id; 0 where there is none.
	LastCall(ctx context.Context) (int64, error)
	// PruneCalls forgets entries from before a moment, and of each user, and of
	// callers that are none, all but the latest so many.
	PruneCalls(ctx context.Context, before time.Time, most int) (gone int64, err error)

	// BeginKeyed records a request before it is done, with the latest event there
	// is, unless one of that id is recorded: that one is returned, as it is.
	BeginKeyed(ctx context.Context, k Keyed) (was *Keyed, err error)
	// EndKeyed records what a request was answered, and what was asked. One that is
	// forgotten stays so.
	EndKeyed(ctx context.Context, k Keyed) error
	// ForgetKeyed forgets one. It can be repeated.
	ForgetKeyed(ctx context.Context, id string) error
	// PruneKeyed forgets those from before a moment, and of each user all but the
	// latest so many, whose answers take no more than size.
	PruneKeyed(ctx context.Context, before time.Time, most int, size int64) error

	// SaveOperation records an operation, or what became of one. One that runs is
	// recorded with the latest event there is.
	SaveOperation(ctx context.Context, op Operation) error
	// Operations lists those of one owner, oldest first.
	Operations(ctx context.Context, uid int) ([]Operation, error)
	// PruneOperations forgets those that ended before a moment, and of each user all
	// but the latest so many.
	PruneOperations(ctx context.Context, before time.Time, most int) error
}

// Stack is what something is made of.
type Stack struct {
	Layers []string
	Saving string // a layer that is becoming one of a box's
	Root   string // of a base that is not reality
}
