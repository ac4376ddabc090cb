package access

import (
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Users looks users up in the machine's database, and remembers them for a
// minute: reading it for every request would cost more than most of them.
type Users struct {
	mu    sync.Mutex
	known map[string]knownUser
}

type knownUser struct {
	owner forkbox.Owner
	err   error
	until time.Time
}

const (
	rememberUser = time.Minute
	mostUsers    = 1000
)

// ByUID finds a user with all groups.
func (u *Users) ByUID(uid int) (forkbox.Owner, error) {
	return u.find("#"+strconv.Itoa(uid), func() (*user.User, error) { return user.LookupId(strconv.Itoa(uid)) })
}

// ByName finds a user by name, or by uid in digits.
func (u *Users) ByName(name string) (forkbox.Owner, error) {
	if uid, err := strconv.ParseUint(name, 10, 31); err == nil {
		return u.ByUID(int(uid))
	}
	return u.find(name, func() (*user.User, error) { return user.Lookup(name) })
}

func (u *Users) find(key string, look func() (*user.User, error)) (forkbox.Owner, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if k, ok := u.known[key]; ok && now.Before(k.until) {
		return k.owner, k.err
	}
	if u.known == nil || len(u.known) >= mostUsers {
		u.known = map[string]knownUser{}
	}
	owner, err := ownerOf(look())
	u.known[key] = knownUser{owner, err, now.Add(rememberUser)}
	return owner, err
}

func ownerOf(known *user.User, err error) (owner forkbox.Owner, _ error) {
	const op = "find the user"
	if err != nil {
		return owner, forkbox.Errorf(forkbox.NotFound, op, "%w", err)
	}
	uid, err := strconv.Atoi(known.Uid)
	if err != nil {
		return owner, forkbox.Errorf(forkbox.Unsupported, op, "%s has no number", known.Username)
	}
	gid, err := strconv.Atoi(known.Gid)
	if err != nil {
		return owner, forkbox.Errorf(forkbox.Unsupported, op, "the group of %s has no number", known.Username)
	}
	ids, err := known.GroupIds()
	if err != nil {
		return owner, forkbox.Errorf(forkbox.Internal, op, "the groups of %s: %w", known.Username, err)
	}
	owner = forkbox.Owner{UID: uid, GID: gid, Name: known.Username, Home: known.HomeDir}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			owner.Groups = append(owner.Groups, n)
		}
	}
	return owner, nil
}
