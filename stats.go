package forkbox

import "time"

// Stats is what a box uses, or used so far. What this host does not count is
// left out.
type Stats struct {
	Time       time.Time     `json:"time"`
	CPU        time.Duration `json:"cpu_ns"` // of all its processors, so far
	Throttled  time.Duration `json:"throttled_ns,omitempty"`
	Memory     int64         `json:"memory_bytes"`
	MemoryPeak int64         `json:"memory_peak_bytes"`
	Swap       int64         `json:"swap_bytes,omitempty"`
	Pids       int64         `json:"pids"`
	Disk       int64         `json:"disk_bytes"`
	Inodes     int64         `json:"inodes,omitempty"`
	IO         IO            `json:"io"`
	// Pressure is by resource, "cpu", "memory" and "io": how much time was
	// lost waiting for it.
	Pressure map[string]Pressure `json:"pressure,omitempty"`
	// OOMKills and PidsHits count how often a limit was met.
	OOMKills int64 `json:"oom_kills,omitempty"`
	PidsHits int64 `json:"pids_hits,omitempty"`
}

// IO counts what went to and came from disks so far.
type IO struct {
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
	ReadOps    int64 `json:"read_ops"`
	WriteOps   int64 `json:"write_ops"`
}

// Pressure is the share of time, in percent, in which some or all processes
// waited, over the last 10 seconds, minute and five minutes.
type Pressure struct {
	Some10  float64 `json:"some10"`
	Some60  float64 `json:"some60"`
	Some300 float64 `json:"some300"`
	Full10  float64 `json:"full10"`
	Full60  float64 `json:"full60"`
	Full300 float64 `json:"full300"`
}

// BoxStats is what one box uses.
type BoxStats struct {
	Box    string  `json:"box"`
	Name   string  `json:"name"`
	State  State   `json:"state"`
	Paused string  `json:"paused,omitempty"`
	Policy Policy  `json:"policy,omitempty"`
	Now    Stats   `json:"now"`
	CPU    float64 `json:"cpu_percent"` // of one processor, between the last two samples
	// Series is what was measured in the last hour, the oldest first; nil where it
	// was not asked for.
	Series []Stats `json:"series,omitzero"`
}
