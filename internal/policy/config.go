// Package policy decides what a box may use, and whether the host has room for
// one more. It is told how the host does and what it holds; it runs nothing
// and keeps nothing.
package policy

import (
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
)

// Config is what the daemon's config.yaml says.
type Config struct {
	// Limits is the host's floor: no box has more, whatever is asked for.
	Limits forkbox.Limits
	// Defaults are for boxes of which nothing was said.
	Defaults forkbox.Limits
	// Users are by name, by uid in digits, or "*" for every user not named.
	Users     map[string]User
	Admission Admission
	Reserve   Reserve
	Network   Network
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
	// Wait is how long a client waits for a place that said nothing else.
	Wait time.Duration
}

// Reserve is what the host keeps for itself.
type Reserve struct{ Memory, Disk Share }

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

// everybody is the key for users who are not named.
const everybody = "*"

// Who set a value, as [forkbox.Rule] tells it.
const (
	fromHost    = "host"
	fromUser    = "user"
	fromBox     = "box"
	fromExec    = "exec"
	fromDefault = "default"
)

// bound is the most that a source allows.
type bound struct {
	value int64
	from  string
}

// or is the tighter of two. Of equal ones it is the first, so that what is
// told does not depend on the order in which a map was read.
func (b bound) or(other bound) bound {
	if forkbox.Tighter(other.value, b.value) {
		return other
	}
	return b
}

// Floor is the most that the host, and its administrator for this user, allow
// of a resource for one box, and which of them that is. It is
// [forkbox.Unlimited] where neither said anything.
func (c Config) Floor(owner forkbox.Owner, r forkbox.Resource) (most int64, from string) {
	b := bound{forkbox.Unlimited, fromHost}
	if v, has := c.Limits[r]; has {
		b.value = v
	}
	for _, u := range c.usersOf(owner) {
		b = b.or(bound{u.most(r), fromUser})
	}
	return b.value, b.from
}

// most is what one box of the user may have: not more than all of them.
func (u User) most(r forkbox.Resource) int64 {
	most := forkbox.Unlimited
	if v, has := u.Limits[r]; has {
		most = v
	}
	all := map[forkbox.Resource]int64{forkbox.Memory: u.Memory, forkbox.CPUs: u.CPUs, forkbox.Disk: u.Disk}[r]
	if all > 0 && forkbox.Tighter(all, most) {
		most = all
	}
	return most
}

// usersOf are the entries that hold for a user. With one by name and one by uid
// both hold. Digits are always a uid: a user who is called 1000 must not get
// what was meant for the user of that number.
func (c Config) usersOf(owner forkbox.Owner) []User {
	var all []User
	if u, has := c.Users[strconv.Itoa(owner.UID)]; has {
		all = append(all, u)
	}
	if u, has := c.Users[owner.Name]; has && !isUID(owner.Name) && owner.Name != everybody {
		all = append(all, u)
	}
	if u, has := c.Users[everybody]; has && len(all) == 0 {
		all = append(all, u)
	}
	return all
}

// quotaOf is what all boxes of a user may use together.
func (c Config) quotaOf(owner forkbox.Owner) Quota {
	var q Quota
	for _, u := range c.usersOf(owner) {
		q = Quota{
			Boxes: int(tightest(int64(q.Boxes), int64(u.Boxes))), Running: int(tightest(int64(q.Running), int64(u.Running))),
			Memory: tightest(q.Memory, u.Memory), CPUs: tightest(q.CPUs, u.CPUs), Disk: tightest(q.Disk, u.Disk),
		}
	}
	return q
}

// tightest is the smaller, where 0 is no limit.
func tightest(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
