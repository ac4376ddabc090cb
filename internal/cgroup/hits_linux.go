package cgroup

// What a limit of processes was met by is counted in one of two ways. Version
// 1, and version 2 until Linux 6.10, count it for the group of who wanted
// another process. Since 6.11 version 2 counts it for the group whose limit it
// was, and those above; then a box's limit is met by the execs that ran at the
// time, as far as anybody can tell.

const (
	tallyOOM  = "oom-kills"     // of execs that are no more, kept with their box
	tallyHits = "pids-hits"     // likewise
	tallyThen = "pids-hits-was" // those of the box when an exec was made
)

// byLimit says whether hits are counted for whose limit it was.
func (h *Host) byLimit() bool { return h.kernel.version() == 2 && h.files["pids.events.local"] }

// pidsHits is how often anything in the box could not have another process.
func (g *Group) pidsHits() int64 {
	dir := g.box.dir(pids)
	if g.host.byLimit() {
		return readKey(dir, "pids.events", "max")
	}
	return sum(g.within(pids), "pids.events", "max") + tally(dir, tallyHits)
}

// Begins notes what an exec is not to be blamed for: what its box has met until
// now. Whoever makes a group ahead calls it once more when the exec begins.
func (s *Sub) Begins() {
	if !s.group.host.byLimit() {
		return
	}
	if was := s.boxHits(); was > 0 {
		setTally(s.own.dir(pids), tallyThen, was)
	}
}

func (s *Sub) boxHits() int64 {
	return readKey(s.group.execs().dir(pids), "pids.events.local", "max")
}

func (s *Sub) pidsHits() int64 {
	dir := s.own.dir(pids)
	if dir == "" {
		return 0
	}
	if s.group.host.byLimit() {
		return readKey(dir, "pids.events", "max") + s.boxHits() - tally(dir, tallyThen)
	}
	return readKey(dir, "pids.events", "max")
}

// toKeep reads what would be lost with an exec's group; what it returns adds it
// to what the box has met.
func (s *Sub) toKeep() (keep func()) {
	h, box := s.group.host, s.group.box
	var kills, hits int64
	if h.kernel.version() == 1 {
		kills = h.kernel.oomKills(s.own)
	}
	if !h.byLimit() {
		hits = s.pidsHits()
	}
	return func() {
		addTally(box.dir(memory), tallyOOM, kills)
		addTally(box.dir(pids), tallyHits, hits)
	}
}

func addTally(dir, name string, more int64) {
	if dir != "" && more > 0 {
		setTally(dir, name, tally(dir, name)+more)
	}
}
