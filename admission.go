package forkbox

// Committed is what boxes that run, or are about to, may use at most by their
// limits. Whether one more may begin is decided by it: the engine counts, and
// the daemon's policy decides.
type Committed struct {
	Running      int
	Paused       int // of those that run: they stand still
	Memory, CPUs int64
	ByUser       map[int]UserCommitted // by uid
}

// UserCommitted is one owner's part. Memory and CPUs are of boxes that run;
// Boxes counts all there are, also those at rest, and Disk the limits of all.
type UserCommitted struct {
	Boxes, Running     int
	Memory, CPUs, Disk int64
}

// Want is what an owner asks to do. New and Start can come together.
type Want struct {
	Owner  Owner
	New    bool // make a box
	Start  bool // have a box begin to run, that Committed does not count yet
	Exec   bool // run a command in a box that runs
	Policy Policy
}

// Verdict says whether it may be done now. If not, Wait says that it may be
// possible later; else it never will be. Stuck says that no box which runs will
// make it possible, only a person.
type Verdict struct {
	OK, Wait, Stuck bool
	Why             string // with figures
	Remedy          string // what a person can do
}
