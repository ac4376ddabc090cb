package server

import (
	"os/user"
	"strconv"
	"sync"
	"time"
)

// userCache remembers names and homes for a minute: reading the user database
// for every connection would cost more than most requests.
type userCache struct {
	mu    sync.Mutex
	users map[int]cachedUser
}

type cachedUser struct {
	name, home string
	until      time.Time
}

func newUserCache() *userCache { return &userCache{users: map[int]cachedUser{}} }

func (c *userCache) lookup(uid int) cachedUser {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, ok := c.users[uid]; ok && time.Now().Before(u.until) {
		return u
	}
	// A uid that the database does not know is still somebody.
	u := cachedUser{name: strconv.Itoa(uid), home: "/", until: time.Now().Add(time.Minute)}
	if known, err := user.LookupId(u.name); err == nil {
		u.name, u.home = known.Username, known.HomeDir
	}
	c.users[uid] = u
	return u
}
