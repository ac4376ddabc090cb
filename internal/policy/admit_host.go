package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

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
	return fits(want, forkbox.Memory, now.Memory, c.Admission.Memory.Of(load.MemTotal))
}

func (c Config) cpus(_ hostload.Load, now Committed, want Want) Verdict {
	if c.Admission.CPUs == 0 {
		return fine
	}
	return fits(want, forkbox.CPUs, now.CPUs, c.Admission.CPUs)
}

// fits says whether one more box fits in what the host gives. One without a
// limit does.
func fits(w Want, r forkbox.Resource, have, most int64) Verdict {
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
	if r.Info().Unit == forkbox.UnitProcessors {
		return forkbox.FormatLimit(r, v) + " cpus"
	}
	return figure(v) + " of " + string(r)
}

func (c Config) memoryLeft(load hostload.Load, _ Committed, _ Want) Verdict {
	keep := c.Reserve.Memory.Of(load.MemTotal)
	return left("the host has %s of memory left, and keeps %s for itself", load.MemAvailable, keep, load.MemTotal)
}

// diskLeft tells the caller at once that a wait would not end where no box runs
// that is not paused: a box that runs may end and be removed, but those at rest
// lie where they lie, and those that were paused to save what is left go on only
// when there is more.
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

// KeptMemory and KeptDisk are what the host keeps for itself of so many bytes.
func (c Config) KeptMemory(total int64) int64 {
	return c.kept(func(r Reserve) int64 { return r.Memory.Of(total) })
}

func (c Config) KeptDisk(total int64) int64 {
	return c.kept(func(r Reserve) int64 { return r.Disk.Of(total) })
}

func (c Config) kept(of func(Reserve) int64) int64 {
	if c.Above != nil {
		return max(of(c.Reserve), c.Above.kept(of))
	}
	return of(c.Reserve)
}

// pressure does not count against a box that is alone: no other box will end and
// make the host idle, and an owner who wants to look what their only box is doing
// to the host must get in.
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
// kernel does not measure.
func (c Config) Unmeasured(load hostload.Load) []string {
	var all []string
	if c.Above != nil {
		all = c.Above.Unmeasured(load)
	}
	for _, what := range slices.Sorted(maps.Keys(c.Admission.Pressure)) {
		if _, measured := load.Pressure[what]; !measured && !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	return all
}
