// Package policy decides what a box may use, and whether the host has room for
// one more. It is told how the host does and what it holds; it runs nothing
// and keeps nothing.
package policy

import (
	"time"

	"github.com/forkbox/forkbox"
)

// Config is what the daemon's config.yaml says.
type Config struct {
	// Limits is the host's floor: no box has more, whatever is asked for.
	Limits forkbox.Limits
	// Defaults are for boxes of which nothing was said.
	Defaults forkbox.Limits
	// Users are by name, by uid in digits, or "*" for all who are not named.
	Users     map[string]User
	Admission Admission
	Reserve   Reserve
	Network   Network
	// Above is what a file says that this configuration may not go beyond,
	// beginning with [Nothing]: its floors, quotas, admission and reserve hold
	// as well. It is nil where there is none.
	Above *Config
}

// User is what one person's boxes may use: each of them, and all together.
type User struct {
	Limits forkbox.Limits
	Quota
}

// Quota is for all boxes of a user together; what is 0 is not limited. Memory
// and CPUs count for boxes that run, Boxes and Disk for all there are. No
// single box may have more than the quota either.
type Quota struct {
	Boxes, Running int
	Memory         int64
	CPUs           int64 // thousandths
	Disk           int64
}

// Admission says when nothing new starts.
type Admission struct {
	// Running is how many boxes run at once; 0 is any number.
	Running int
	// Memory is how much the boxes that run may use together, by their limits.
	// One without a limit counts nothing: the reserve and the pressure speak
	// for it.
	Memory Share
	// CPUs is the same of processors, in thousandths; 0 is any number.
	CPUs int64
	// Pressure is by "cpu", "memory" and "io": the share of the last ten
	// seconds, in percent, in which some process waited, above which nothing
	// new starts. What is not in it does not count.
	Pressure map[string]float64
	// Wait is how long a caller waits for a place who said nothing else.
	Wait time.Duration
}

// Reserve is what the host keeps for itself.
type Reserve struct{ Memory, Disk Share }

// Nothing is a configuration that limits nothing.
func Nothing() Config {
	return Config{Limits: forkbox.Limits{}, Defaults: forkbox.Limits{}, Users: map[string]User{}, Admission: Admission{Pressure: map[string]float64{}}}
}

// Builtin is the configuration of a host that has none. It has to do for a
// laptop of two cores and for a server of sixty-four, so it limits only what
// no honest work needs: a fork bomb, memory promised twice, and the last of
// memory and disk. CPU pressure is off: a machine that is compiling is busy,
// not in danger.
func Builtin() Config {
	return Config{
		Limits:   forkbox.Limits{},
		Defaults: forkbox.Limits{forkbox.Pids: 4096},
		Users:    map[string]User{},
		Admission: Admission{
			Memory:   Share{Percent: 90},
			Pressure: map[string]float64{"memory": 60, "io": 90},
			Wait:     time.Minute,
		},
		Reserve: Reserve{
			Memory: Share{Percent: 5, Least: 256 << 20, Most: 2 << 30},
			Disk:   Share{Percent: 2, Least: 1 << 30, Most: 10 << 30},
		},
		Network: Network{Default: forkbox.NetPolicy, Preset: forkbox.PresetBalanced},
	}
}
