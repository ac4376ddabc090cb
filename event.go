package forkbox

import (
	"context"
	"strings"
	"time"
)

// EventKind says what happened: a noun, a dot, and what became of it.
type EventKind string

const (
	EventBoxCreated   EventKind = "box.created"
	EventBoxForked    EventKind = "box.forked"
	EventBoxStarted   EventKind = "box.started"
	EventBoxStopped   EventKind = "box.stopped"
	EventBoxRemoved   EventKind = "box.removed"
	EventBoxKept      EventKind = "box.kept"
	EventBoxUnkept    EventKind = "box.unkept"
	EventBoxSynced    EventKind = "box.synced"
	EventBoxDiscarded EventKind = "box.discarded"
	EventRolledBack   EventKind = "box.rolled-back"
	EventBoxStale     EventKind = "box.stale"
	EventPaused       EventKind = "box.paused"
	EventResumed      EventKind = "box.resumed"
	EventExtended     EventKind = "box.extended"
	EventTTLSoon      EventKind = "box.ends-soon"
	EventTTL          EventKind = "box.time-up"
	EventIdle         EventKind = "box.idle"
	EventTimeJumps    EventKind = "box.clock"

	EventExecStarted   EventKind = "exec.started"
	EventExecEnded     EventKind = "exec.ended"
	EventExecCorrected EventKind = "exec.corrected"
	EventTimedOut      EventKind = "exec.timed-out"

	EventServiceReady EventKind = "service.ready"
	EventServiceEnded EventKind = "service.ended"

	EventOOM     EventKind = "limit.memory"
	EventPids    EventKind = "limit.pids"
	EventDisk    EventKind = "limit.disk"
	EventReserve EventKind = "limit.reserve"

	EventLimits  EventKind = "policy.limits"
	EventNetwork EventKind = "policy.network"
	EventPorts   EventKind = "policy.ports"

	EventSnapshotMade    EventKind = "snapshot.made"
	EventSnapshotRemoved EventKind = "snapshot.removed"

	EventTemplateMade    EventKind = "template.made"
	EventTemplateWarmed  EventKind = "template.warmed"
	EventTemplateRemoved EventKind = "template.removed"

	EventReceiptApplied EventKind = "receipt.applied"
	EventReceiptUndone  EventKind = "receipt.undone"
	EventReceiptFailed  EventKind = "receipt.failed"
	EventReceiptExpired EventKind = "receipt.expired"

	EventRaceStarted   EventKind = "race.started"
	EventApproachDone  EventKind = "race.approach-done"
	EventRaceEnded     EventKind = "race.ended"
	EventRaceCancelled EventKind = "race.cancelled"
	EventRaceApplied   EventKind = "race.applied"
	EventRaceRemoved   EventKind = "race.removed"

	EventSecretSet     EventKind = "secret.set"
	EventSecretRemoved EventKind = "secret.removed"
	EventTokenMade     EventKind = "token.made"
	EventTokenRevoked  EventKind = "token.revoked"

	EventCollected     EventKind = "store.collected"
	EventStoreRepaired EventKind = "store.repaired"
	EventStoreChanged  EventKind = "store.changed"
)

// EventKinds are all there are, each with what it tells. docs/OPERATIONS.md has
// the same table, and a test that says so.
var EventKinds = [...]struct {
	Kind EventKind
	Text string
}{
	{EventBoxCreated, "a box was made; from says of what"},
	{EventBoxForked, "a box was made of this one, or of its snapshot; to is the new box"},
	{EventBoxStarted, "a box begins to run"},
	{EventBoxStopped, "a box came to rest; cause and text say why, also where it died or could not be started"},
	{EventBoxRemoved, "a box and all its files are gone"},
	{EventBoxKept, "gc leaves the box alone from now on"},
	{EventBoxUnkept, "gc may remove the box again"},
	{EventBoxSynced, "reality's changes were brought into the box"},
	{EventBoxDiscarded, "changes of the box were put back to its base; count says how many paths"},
	{EventRolledBack, "the box is again as a snapshot of it; from is that snapshot"},
	{EventBoxStale, "another box landed a path that this one changed, too"},
	{EventPaused, "everything in the box stands still"},
	{EventResumed, "a paused box goes on"},
	{EventExtended, "the box's time was extended"},
	{EventTTLSoon, "the box's time is up soon"},
	{EventTTL, "the box was stopped: its time was up"},
	{EventIdle, "the box was stopped: nothing was run in it for as long as its policy allows"},
	{EventTimeJumps, "the host's clock was set, and the box's end with it"},
	{EventExecStarted, "a command was started in the box; its text is the command"},
	{EventExecEnded, "a command ended; code, signal and cause say how"},
	{EventExecCorrected, "the end of a command that was only assumed is known now; it replaces that of exec.ended"},
	{EventTimedOut, "a command was ended for its timeout"},
	{EventServiceReady, "a service of the box answers; to is its name"},
	{EventServiceEnded, "a service of the box ended without having been asked to; to is its name, code, signal and cause say how"},
	{EventOOM, "processes were killed for the memory limit"},
	{EventPids, "the limit of processes was met"},
	{EventDisk, "the limit of disk, or of inodes, was met"},
	{EventReserve, "the box was paused: the host's reserve of disk was reached"},
	{EventLimits, "the limits of the box were changed"},
	{EventNetwork, "what the box may reach was changed, or its gate does not work"},
	{EventPorts, "a port of the box was published, or taken back"},
	{EventSnapshotMade, "a snapshot was made; its text is its name"},
	{EventSnapshotRemoved, "a snapshot is gone"},
	{EventTemplateMade, "a template was made"},
	{EventTemplateWarmed, "it was said how many boxes of a template are kept ready"},
	{EventTemplateRemoved, "a template is gone"},
	{EventReceiptApplied, "changes of a box landed in reality; count says how many paths"},
	{EventReceiptUndone, "an apply was taken back"},
	{EventReceiptFailed, "an apply, or an undo, came to nothing or is torn; the text says why"},
	{EventReceiptExpired, "what an apply replaced is kept no longer: it cannot be undone any more"},
	{EventRaceStarted, "a race was started; count is the number of approaches"},
	{EventApproachDone, "an approach of a race was judged; cause is its outcome"},
	{EventRaceEnded, "a race ended; to is the winner"},
	{EventRaceCancelled, "a race was cancelled"},
	{EventRaceApplied, "an approach of a race landed in reality"},
	{EventRaceRemoved, "a race is gone"},
	{EventSecretSet, "a secret was set; never its value"},
	{EventSecretRemoved, "a secret is gone"},
	{EventTokenMade, "a token was made; never the token itself"},
	{EventTokenRevoked, "a token was revoked"},
	{EventCollected, "gc removed boxes; count and bytes say how much"},
	{EventStoreRepaired, "the ledger was repaired from what lies in the store"},
	{EventStoreChanged, "the pool of the store was made, grown or removed"},
}

// Event is something that happened: to a box and what is in it, to reality by
// way of a receipt, or to what the owner keeps. IDs count up, over all owners.
type Event struct {
	ID   int64     `json:"id"`
	Kind EventKind `json:"kind"`
	Time time.Time `json:"time"`
	UID  int       `json:"uid"` // of the owner

	Box      string `json:"box,omitempty"`
	Name     string `json:"name,omitempty"` // the box's, or that of what it is about
	Exec     string `json:"exec,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Template string `json:"template,omitempty"`
	Receipt  string `json:"receipt,omitempty"`
	Race     string `json:"race,omitempty"`
	Secret   string `json:"secret,omitempty"` // its name
	Token    string `json:"token,omitempty"`  // its id

	// Request is the id of the request that it was done for.
	Request string     `json:"request,omitempty"`
	Text    string     `json:"text"`
	Data    *EventData `json:"data,omitempty"`
}

type requestKey struct{}

// WithRequest is a context for what is done for a request: a ledger has the events
// that it writes for it name the request.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf is the id of the request that something is done for; "" for none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// EventData is what programs want to know of an event without reading its text.
type EventData struct {
	By     string `json:"by,omitempty"`   // who asked for it
	From   string `json:"from,omitempty"` // what something was made of
	To     string `json:"to,omitempty"`   // what was made, or won
	Cause  string `json:"cause,omitempty"`
	Code   *int   `json:"code,omitempty"` // a command's exit code
	Signal string `json:"signal,omitempty"`
	Count  int    `json:"count,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// maxEventText bounds the text of an event: a command line can be megabytes.
const maxEventText = 500

// EventText is a text short enough for an event.
func EventText(text string) string {
	if len(text) <= maxEventText {
		return text
	}
	return strings.ToValidUTF8(text[:maxEventText], "") + "…"
}

// EventQuery is which events are wanted. The zero value is all.
type EventQuery struct {
	UID   *int // of one owner; nil is all users'
	Box   string
	After int64 // only later ones than this id
	Limit int   // no more than so many, the first of them; 0 is all
}

// EventFilter is which kinds of events are wanted: kinds, or nouns with a star
// ("box.*"). An empty one wants all.
type EventFilter []string

// ParseEventFilter reads kinds with commas between them. A kind that no event has
// is an Invalid error: a caller would wait for it in vain.
func ParseEventFilter(text string) (EventFilter, error) {
	var f EventFilter
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" || word == "*" && len(f) == 0 {
			continue
		}
		if !(EventFilter{word}).known() {
			return nil, Errorf(Invalid, "understand the kinds of events", "there is no kind %q", word).
				Hint("use kinds like box.created, or all of a noun: %s", eventNouns())
		}
		f = append(f, word)
	}
	return f, nil
}

func (f EventFilter) known() bool {
	for _, k := range EventKinds {
		if f.Wants(k.Kind) {
			return true
		}
	}
	return false
}

// Wants says whether an event of that kind is wanted.
func (f EventFilter) Wants(kind EventKind) bool {
	for _, want := range f {
		if noun, all := strings.CutSuffix(want, "*"); all && strings.HasPrefix(string(kind), noun) || want == string(kind) {
			return true
		}
	}
	return len(f) == 0
}

func eventNouns() string {
	var nouns []string
	for _, k := range EventKinds {
		noun, _, _ := strings.Cut(string(k.Kind), ".")
		if noun += ".*"; len(nouns) == 0 || nouns[len(nouns)-1] != noun {
			nouns = append(nouns, noun)
		}
	}
	return strings.Join(nouns, ", ")
}

// Waiting is a request's place in the queue for the host.
type Waiting struct {
	Ticket   string    `json:"ticket,omitempty"`
	Place    int       `json:"place"` // from 1
	What     string    `json:"what"`  // "start box try"
	Why      string    `json:"why"`   // what there is too little of, with the figure
	Priority Priority  `json:"priority"`
	Since    time.Time `json:"since"`
	Deadline time.Time `json:"deadline"`
}
