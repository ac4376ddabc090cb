package forkbox

import (
	"slices"
	"strings"
)

// Resource is something that a box or an exec may use so much of. Its name is
// also the name of its flag, and its key in files and in JSON.
type Resource string

const (
	CPUs        Resource = "cpus"
	Memory      Resource = "memory"
	Swap        Resource = "swap"
	Pids        Resource = "pids"
	Disk        Resource = "disk"
	Inodes      Resource = "inodes"
	ReadBytes   Resource = "read-bps"
	WriteBytes  Resource = "write-bps"
	ReadOps     Resource = "read-iops"
	WriteOps    Resource = "write-iops"
	Files       Resource = "files"
	Kept        Resource = "output"
	Bandwidth   Resource = "bandwidth"
	Connections Resource = "connections"
	Timeout     Resource = "timeout"
	TTL         Resource = "ttl"
	Idle        Resource = "idle"
)

// Holder is what holds a limit.
type Holder string

const (
	HeldByGroup   Holder = "group"   // the kernel, on the control group of the box or of the exec
	HeldByDisk    Holder = "disk"    // the filesystem of the store, or the engine, which looks now and then
	HeldByProcess Holder = "process" // the kernel, on each process by itself
	HeldByLog     Holder = "log"     // what writes the log of an exec
	HeldByGate    Holder = "gate"    // the gate that the box's network goes through
	HeldByClock   Holder = "clock"   // the engine, which counts time
)

// LimitScope says whose a limit is.
type LimitScope string

const (
	OfBox      LimitScope = "box"       // the box's; an exec cannot have one of its own
	OfBoth     LimitScope = "both"      // the box's, for all its execs together; an exec may have a tighter one beside
	OfEachExec LimitScope = "each exec" // each exec's, by itself; the box has what execs get that say nothing
)

// ResourceInfo is all that forkbox knows of a resource but for how its limit is
// enforced: what does that asks the table instead of having a list of its own.
type ResourceInfo struct {
	Name    Resource
	Unit    Unit
	Scope   LimitScope
	Holder  Holder
	Least   int64  // nothing could run with less
	Example string // a usual value, as people write it
	Help    string // of its flag
	// Cause is what an exec died of that met the limit, and Event what is told
	// of it; empty where no exec dies of it, or nothing is told of an exec.
	Cause Cause
	Event EventKind
}

// resources is the table. Its order is the one that people read limits in; of
// those that share a cause the first speaks for it.
var resources = []ResourceInfo{
	{Name: CPUs, Unit: UnitProcessors, Scope: OfBoth, Holder: HeldByGroup, Least: 10, Example: "1.5", Help: "processors, also a part of one: 1.5"},
	{Name: Memory, Unit: UnitBytes, Scope: OfBoth, Holder: HeldByGroup, Least: 4 << 20, Example: "2g", Help: "memory, with page cache and tmpfs: 2g",
		Cause: CauseOOM, Event: EventOOM},
	{Name: Swap, Unit: UnitBytes, Scope: OfBoth, Holder: HeldByGroup, Least: 0, Example: "0", Help: "swap beyond the memory; 0 is none at all"},
	{Name: Pids, Unit: UnitCount, Scope: OfBoth, Holder: HeldByGroup, Least: 2, Example: "512", Help: "processes and threads: 512",
		Cause: CausePids, Event: EventPids},
	{Name: Disk, Unit: UnitBytes, Scope: OfBox, Holder: HeldByDisk, Least: 1, Example: "5g", Help: "disk that the box writes: 5g",
		Cause: CauseDisk, Event: EventDisk},
	{Name: Inodes, Unit: UnitCount, Scope: OfBox, Holder: HeldByDisk, Least: 1, Example: "100k", Help: "files that it makes: 100k",
		Cause: CauseDisk, Event: EventDisk},
	{Name: ReadBytes, Unit: UnitBytes, Scope: OfBoth, Holder: HeldByGroup, Least: 1, Example: "50m", Help: "bytes read from disks per second: 50m"},
	{Name: WriteBytes, Unit: UnitBytes, Scope: OfBoth, Holder: HeldByGroup, Least: 1, Example: "20m", Help: "bytes written to disks per second"},
	{Name: ReadOps, Unit: UnitCount, Scope: OfBoth, Holder: HeldByGroup, Least: 1, Example: "1000", Help: "reads from disks per second"},
	{Name: WriteOps, Unit: UnitCount, Scope: OfBoth, Holder: HeldByGroup, Least: 1, Example: "500", Help: "writes to disks per second"},
	{Name: Files, Unit: UnitCount, Scope: OfEachExec, Holder: HeldByProcess, Least: 16, Example: "1024", Help: "open files of one process: 1024"},
	{Name: Kept, Unit: UnitBytes, Scope: OfEachExec, Holder: HeldByLog, Least: 0, Example: "16m", Help: "output kept of one command: 10m"},
	{Name: Bandwidth, Unit: UnitBytes, Scope: OfBox, Holder: HeldByGate, Least: 1 << 10, Example: "10m", Help: "bytes per second through the box's gate, each way: 10m"},
	{Name: Connections, Unit: UnitCount, Scope: OfBox, Holder: HeldByGate, Least: 1, Example: "256", Help: "connections through it that are open at once: 256"},
	{Name: Timeout, Unit: UnitTime, Scope: OfEachExec, Holder: HeldByClock, Least: 1, Example: "10m", Help: "how long one command of it may run, if it says nothing else: 10m",
		Cause: CauseTimeout, Event: EventTimedOut},
	{Name: TTL, Unit: UnitTime, Scope: OfBox, Holder: HeldByClock, Least: 1, Example: "2h", Help: "how long the box lives; then it stops, and keeps its changes: 2h",
		Cause: CauseTTL},
	{Name: Idle, Unit: UnitTime, Scope: OfBox, Holder: HeldByClock, Least: 1, Example: "15m", Help: "stop the box when nothing was run in it for so long: 15m",
		Cause: CauseIdle},
}

// Resources is all of them, in the order that people read them in.
var Resources = resourcesWhere(func(ResourceInfo) bool { return true })

// ResourcesHeldBy is those whose limits a holder holds.
func ResourcesHeldBy(h Holder) []Resource {
	return resourcesWhere(func(i ResourceInfo) bool { return i.Holder == h })
}

func resourcesWhere(wanted func(ResourceInfo) bool) (names []Resource) {
	for _, i := range resources {
		if wanted(i) {
			names = append(names, i.Name)
		}
	}
	return names
}

// ResourceBehind is the resource whose limit a cause of death is.
func ResourceBehind(cause Cause) (Resource, bool) {
	at := slices.IndexFunc(resources, func(i ResourceInfo) bool { return i.Cause != "" && i.Cause == cause })
	if at < 0 {
		return "", false
	}
	return resources[at].Name, true
}

// Info is the resource's row in the table; an empty one if there is nothing of
// that name to limit.
func (r Resource) Info() ResourceInfo {
	for _, i := range resources {
		if i.Name == r {
			return i
		}
	}
	return ResourceInfo{}
}

// Known says whether there is something of that name to limit.
func (r Resource) Known() bool { return r.Info().Name != "" }

// PerExec says whether one exec can have a limit of its own.
func (r Resource) PerExec() bool { return r.Info().Scope != OfBox }

// OfHost says whether it takes something of the host to hold the limit, which
// the provider has to be asked for. The others forkbox holds by itself.
func (r Resource) OfHost() bool {
	h := r.Info().Holder
	return h == HeldByGroup || h == HeldByDisk
}

func unknownResource(r Resource) error {
	words := make([]string, len(Resources))
	for i, known := range Resources {
		words[i] = string(known)
	}
	return Errorf(Invalid, "read a limit", "there is nothing called %q to limit", string(r)).
		Hint("it is one of %s", strings.Join(words, ", "))
}
