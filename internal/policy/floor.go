package policy

import (
	"strconv"

	"github.com/forkbox/forkbox"
)

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

// bound is the most that is allowed, and who said so.
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
	if c.Above != nil {
		most, from := c.Above.Floor(owner, r)
		b = b.or(bound{most, from})
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
// both hold. Digits are always a uid: a user who is called 1000 must not get what
// was meant for the user of that number.
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
