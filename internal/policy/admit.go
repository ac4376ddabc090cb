package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

// Committed is what is there, and what boxes that run may use at most by their
// limits.
type Committed struct {
	Running      int
	Paused       int // of those that run
	Memory, CPUs int64
	ByUser       map[int]UserCommitted // by uid
}

// UserCommitted is one user's part. Memory and CPUs are of boxes that run;
// Boxes counts all there are, and Disk the limits of all.
type UserCommitted struct {
	Boxes, Running     int
	Memory, CPUs, Disk int64
}

// Want is what a client wants to do. New and Start can come together.
type Want struct {
	Owner  forkbox.Owner
	New    bool // make a box
	Start  bool // have a box begin to run, that Committed does not count yet
	Exec   bool // run something in a box that runs
	Policy forkbox.Policy
}

// Verdict says whether it may be done now. If not, Wait says that it may be
// possible later; else it never will be. Stuck says that no box which runs will
// make it possible, only a person. Why has the figures, Remedy what to do.
type Verdict struct {
	OK, Wait, Stuck bool
	Why, Remedy     string
}

// later and never are a verdict against, and fine is none.
func later(why string) Verdict { return Verdict{Wait: true, Why: why} }
func never(why string) Verdict { return Verdict{Why: why} }

var fine = Verdict{OK: true}

// Admit says whether the host has room for what a client wants. Something that
// can never be is told at once, even where something else would have to be
// waited for first.
func (c Config) Admit(load hostload.Load, now Committed, want Want) Verdict {
	verdict := fine
	for _, check := range c.checks(want) {
		v := check(load, now, want)
		if !v.OK && !v.Wait {
			return v
		}
		if verdict.OK {
			verdict = v
		}
	}
	return verdict
}

type check func(hostload.Load, Committed, Want) Verdict

// checks are those that count for a want, what people can do most about first.
func (c Config) checks(want Want) []check {
	var all []check
	if want.New {
		all = append(all, c.userBoxes, c.userDisk, c.diskLeft)
	}
	if want.Start {
		all = append(all, c.userRunning, c.userMemory, c.userCPUs, c.running, c.memory, c.cpus, c.memoryLeft)
		if !want.New {
			all = append(all, c.diskLeft)
		}
	}
	if want.Start || want.Exec {
		all = append(all, c.pressure)
	}
	return all
}

func (c Config) userBoxes(_ hostload.Load, now Committed, want Want) Verdict {
	most, have := c.quotaOf(want.Owner).Boxes, now.ByUser[want.Owner.UID].Boxes
	if most > 0 && have >= most {
		return later(fmt.Sprintf("user %s has %d boxes, and may have %d", want.Owner.Name, have, most))
	}
	return fine
}

func (c Config) userRunning(_ hostload.Load, now Committed, want Want) Verdict {
	most, have := c.quotaOf(want.Owner).Running, now.ByUser[want.Owner.UID].Running
	if most > 0 && have >= most {
		return later(fmt.Sprintf("%s of user %s already, who may run %d", boxesRun(have), want.Owner.Name, most))
	}
	return fine
}

func (c Config) userMemory(_ hostload.Load, now Committed, want Want) Verdict {
	return want.within(forkbox.Memory, "boxes that run", now.ByUser[want.Owner.UID].Memory, c.quotaOf(want.Owner).Memory)
}

func (c Config) userCPUs(_ hostload.Load, now Committed, want Want) Verdict {
	return want.within(forkbox.CPUs, "boxes that run", now.ByUser[want.Owner.UID].CPUs, c.quotaOf(want.Owner).CPUs)
}

func (c Config) userDisk(_ hostload.Load, now Committed, want Want) Verdict {
	return want.within(forkbox.Disk, "boxes", now.ByUser[want.Owner.UID].Disk, c.quotaOf(want.Owner).Disk)
}

// within says whether a user's boxes and this one stay within a quota. A box
// without a limit, made before there was a quota, counts as all of it.
func (w Want) within(r forkbox.Resource, which string, have, most int64) Verdict {
	mine, limited := w.Policy.Of(r)
	if !limited {
		mine = most
	}
	switch {
	case most <= 0 || mine <= most-have:
		return fine
	case mine > most:
		return never(fmt.Sprintf("this box may use %s; user %s may use %s", amount(r, mine), w.Owner.Name, amount(r, most)))
	}
	return later(fmt.Sprintf("%s of user %s may use %s together, and this one %s more; the user may use %s",
		which, w.Owner.Name, amount(r, have), amount(r, mine), amount(r, most)))
}

func (c Config) running(_ hostload.Load, now Committed, _ Want) Verdict {
	if most := c.Admission.Running; most > 0 && now.Running >= most {
		return later(fmt.Sprintf("%s already; the host runs %d at once", boxesRun(now.Running), most))
	}
	return fine
}

func boxesRun(n int) string {
	if n == 1 {
		return "1 box runs"
	}
	return itoa(n) + " boxes run"
}

// memory adds up limits, not use: a box that has used little so far may use
// the rest at any time.
func (c Config) memory(load hostload.Load, now Committed, want Want) Verdict {
	if c.Admission.Memory.none() {
		return fine
	}
	return want.fits(forkbox.Memory, now.Memory, c.Admission.Memory.Of(load.MemTotal))
}

func (c Config) cpus(_ hostload.Load, now Committed, want Want) Verdict {
	if c.Admission.CPUs == 0 {
		return fine
	}
	return want.fits(forkbox.CPUs, now.CPUs, c.Admission.CPUs)
}

// fits says whether one more box fits in what the host gives. One without a
// limit does.
func (w Want) fits(r forkbox.Resource, have, most int64) Verdict {
	mine, limited := w.Policy.Of(r)
	switch {
	case !limited || mine <= most-have:
		return fine
	case mine > most:
		return never(fmt.Sprintf("this box may use %s; the host gives all boxes together %s", amount(r, mine), amount(r, most)))
	}
	return later(fmt.Sprintf("boxes that run may use %s together, and this one %s more; the host gives %s",
		amount(r, have), amount(r, mine), amount(r, most)))
}

// amount is a figure with what it is of.
func amount(r forkbox.Resource, v int64) string {
	if r == forkbox.CPUs {
		return forkbox.FormatLimit(r, v) + " cpus"
	}
	return figure(v) + " of " + string(r)
}

func (c Config) memoryLeft(load hostload.Load, _ Committed, _ Want) Verdict {
	keep := c.Reserve.Memory.Of(load.MemTotal)
	return left("the host has %s of memory left, and keeps %s for itself", load.MemAvailable, keep, load.MemTotal)
}

// diskLeft refuses a user who is alone at once: a box that runs may end and be
// removed, but those at rest lie where they lie, and those that were paused to
// save what is left go on only when there is more.
func (c Config) diskLeft(load hostload.Load, now Committed, _ Want) Verdict {
	v := c.diskFree(load)
	if v.Wait {
		v.Stuck = now.Running == now.Paused
		v.Remedy = "free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it"
	}
	return v
}

// diskFree also looks at inodes: a million small files fill a disk as well. The
// host keeps the same part of them.
func (c Config) diskFree(load hostload.Load) Verdict {
	keep := c.Reserve.Disk.Of(load.DiskTotal)
	v := left("the disk of the store has %s left, and %s are kept free", load.DiskFree, keep, load.DiskTotal)
	if !v.OK || load.InodesTotal == 0 || load.DiskTotal == 0 {
		return v
	}
	if files := int64(float64(load.InodesTotal) * float64(keep) / float64(load.DiskTotal)); load.InodesFree < files {
		return later(fmt.Sprintf("the disk of the store has room for %d files, and %d are kept free", load.InodesFree, files))
	}
	return fine
}

func left(words string, free, keep, total int64) Verdict {
	switch why := fmt.Sprintf(words, figure(free), figure(keep)); {
	case free >= keep:
		return fine
	case keep >= total:
		return never(why)
	default:
		return later(why)
	}
}

// pressure does not count against who is alone: no other box will end and make
// the host idle, and a user who wants to look what their only box is doing to
// the host must get in.
func (c Config) pressure(load hostload.Load, now Committed, want Want) Verdict {
	others := now.Running
	if !want.Start {
		others--
	}
	if others <= 0 {
		return fine
	}
	for _, what := range slices.Sorted(maps.Keys(c.Admission.Pressure)) {
		most := c.Admission.Pressure[what]
		if p, measured := load.Pressure[what]; measured && p.Some10 > most {
			return later(fmt.Sprintf("the host waits for %s %s of the time; nothing starts above %s", waitedFor(what), percent(p.Some10), percent(most)))
		}
	}
	return fine
}

func waitedFor(what string) string {
	return map[string]string{"cpu": "a processor", "memory": "memory", "io": "its disks"}[what]
}

// Unmeasured lists the pressures that the configuration counts on and this
// kernel does not measure, for the client to be told.
func (c Config) Unmeasured(load hostload.Load) []string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.Admission.Pressure)) {
		if _, measured := load.Pressure[what]; !measured {
			all = append(all, what)
		}
	}
	return all
}
