package forkbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// State says what a box is doing. A box at rest is Stopped: it costs its
// changed bytes and nothing else, and wakes when something is run in it.
type State string

const (
	Creating State = "creating" // in the ledger, not yet usable
	Stopped  State = "stopped"  // at rest: no process, no mount
	Running  State = "running"  // has an init, so it has processes and mounts
	Removing State = "removing" // being deleted; a restart finishes the job
)

// Base is what a box was forked from.
type Base struct {
	Kind  string    `json:"kind"`  // "reality", "dir", "oci", "tar", "empty"
	Fence time.Time `json:"fence"` // when it was forked; later edits to the base are drift
	// Root is the directory of a base that is not reality.
	Root string `json:"root,omitempty"`
	// Name is what its owner called it: the file or directory.
	Name string `json:"name,omitempty"`
	// Dir and Env are what an image says commands start with.
	Dir string  `json:"dir,omitempty"`
	Env Strings `json:"env,omitempty"`
	// Foreign says that a user other than root brought what lies over it, or
	// chose it: programs of root's, with files of that user, must not get
	// root's rights there.
	Foreign bool `json:"foreign,omitempty"`
	// Ticket is what a box says that begins as it, where it was just brought.
	Ticket string `json:"ticket,omitempty"`
	// Moved are the receipts that moved directories of reality and whose moves
	// the layers over it know of.
	Moved Strings `json:"moved,omitempty"`
}

// IsReality says whether the base is this machine.
func (b Base) IsReality() bool { return b.Root == "" }

// NeverFenced is the fence of a box whose changes were made elsewhere: all that
// reality has counts as changed since.
var NeverFenced = time.Unix(0, 0).UTC()

// Reality is the kind of base that is this machine.
const Reality = "reality"

// Owner is the person a box belongs to and whose rights it runs with.
type Owner struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Groups []int  `json:"groups,omitempty"`
	Name   string `json:"name"`
	Home   string `json:"home"`
}

// Box is a fork.
type Box struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    State     `json:"state"`
	Provider string    `json:"provider"`
	Base     Base      `json:"base"`
	Owner    Owner     `json:"owner"`
	Net      Net       `json:"net"`
	Network  Network   `json:"network,omitzero"`
	Dir      string    `json:"dir"` // the working directory it was made in, by its real name
	Created  time.Time `json:"created"`

	// Env is the environment it was made with, credentials already removed.
	Env Strings `json:"env,omitempty"`
	// AllowSecrets names the secret paths and variables that are not hidden.
	AllowSecrets []string `json:"allow_secrets,omitempty"`
	// Places are variables, of the environments that it was made and started
	// with, that name where credentials lie: NAME=PATH. They are hidden there.
	Places Strings `json:"places,omitempty"`
	// Pinned keeps it running when it is idle: `forkbox start` sets it.
	Pinned bool `json:"pinned,omitempty"`
	// Stale says which other box landed what this one changed as well; nil where
	// none did.
	Stale *Staleness `json:"stale,omitempty"`
	// Unresolved are paths where reality and the box differ in a way that
	// sync could not merge; apply refuses them until the owner decides.
	Unresolved Strings `json:"unresolved,omitempty"`
	// Layers are the immutable ones below what the box itself writes, the
	// topmost first.
	Layers []string `json:"layers,omitempty"`
	// Services are copies of the machine's that come up with the box.
	Services []BoxService `json:"services,omitempty"`
	// Store says how the box's layers are kept: "overlay", "btrfs", "reflink",
	// "copy".
	Store string `json:"store,omitempty"`
	// Parent is the snapshot, or the template, that it was forked from, and
	// ParentBox the box that one was of.
	Parent    string `json:"parent,omitempty"`
	ParentBox string `json:"parent_box,omitempty"`
	// At is the snapshot that it was last saved as or rolled back to.
	At string `json:"at,omitempty"`
	// Lineage is what it was forked from, and that from, the nearest last.
	Lineage []Ancestor `json:"lineage,omitempty"`
	// Race is the id of the race that it was made for, and Approach whose it is
	// in that.
	Race     string `json:"race,omitempty"`
	Approach string `json:"approach,omitempty"`
	// Kept says that its owner wants it kept: gc leaves it alone.
	Kept bool `json:"kept,omitempty"`
	// Discarded says that its owner threw changes of it away.
	Discarded bool `json:"discarded,omitempty"`
	// Saves are the layers that its snapshots consist of, where that matters:
	// what they take counts against the box's limit.
	Saves []string `json:"-"`
	// Bare is a box without what it wrote over its layers: a snapshot, looked
	// at as if it were one.
	Bare bool `json:"-"`
	// Policy is the limits that hold for it, and BestEffort that its owner
	// accepted such as this host cannot enforce.
	Policy     Policy   `json:"policy,omitempty"`
	BestEffort bool     `json:"best_effort,omitempty"`
	Priority   Priority `json:"priority,omitempty"`
	// Asked is what was asked for, from which Policy is made anew when limits
	// change.
	Asked *Wish `json:"asked,omitempty"`
	// Paused says why its processes stand still; empty when they do not.
	Paused string `json:"paused,omitempty"`
	// Ends is when its time is up.
	Ends *Moment `json:"ends,omitempty"`
	// Death is how it last ended, where that was not asked for.
	Death *Exit `json:"death,omitempty"`
	// Last is the latest command that was run in it, where boxes are listed. It
	// is not part of the box's record.
	Last *Exec `json:"last,omitempty"`
	// Note tells the owner what happened to the box, where that matters:
	// a failed start, a host that crashed under it.
	Note string `json:"note,omitempty"`
	// Bookkeeping is for the daemon: [StoredBox] has it in the box's record.
	Bookkeeping `json:"-"`
}

// Tag is another whenever the box's record is: its state, its limits, what it may
// reach, what it consists of. What lies in its files is not in it, nor how its
// services do.
func (b Box) Tag() string {
	b.Env, b.Last = nil, nil
	b.Services = slices.Clone(b.Services)
	for i := range b.Services {
		b.Services[i].Exec, b.Services[i].State = "", ""
	}
	text, _ := json.Marshal(b) // a box always can be
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Moment is a time to come that stays as far away when the clock is set: Since
// counts from the host's start, which Boot names. After a restart only the
// clock is left.
type Moment struct {
	Time  time.Time     `json:"time"`
	Boot  string        `json:"boot,omitempty"`
	Since time.Duration `json:"since_ns,omitempty"`
}

// Ancestor is a box that another one has its past in common with, until the
// snapshot that led to the other was made.
type Ancestor struct {
	Box   string    `json:"box"`
	Until time.Time `json:"until"`
}

// SyncStaging is what the names of those directories of a box begin with in which
// a sync prepares what it brings. They are no change of the box.
const SyncStaging = ".forkbox-sync-"
