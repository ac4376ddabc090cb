// Package hostload reads how the host does: its memory, its disk, and how much
// time is lost waiting for them. It decides nothing.
package hostload

import (
	"maps"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Load is how the host does. Inside a container the host is what the
// container may use.
type Load struct {
	MemTotal     int64 // bytes
	MemAvailable int64 // what can be had without swapping
	CPUs         int
	// Pressure is by resource: "cpu", "memory", "io". What the kernel does not
	// measure is not in it: that must not be taken for a host at rest.
	Pressure map[string]forkbox.Pressure
	// DiskTotal and DiskFree are of the store's filesystem, in bytes that a
	// user without rights may use.
	DiskTotal, DiskFree int64
	// InodesTotal is 0 where the filesystem makes them as it needs them.
	InodesTotal, InodesFree int64
}

// fresh is for how long an answer is given again. A burst of boxes asks
// hundreds of times within it, and the kernel itself updates pressure only
// every two seconds.
const fresh = 100 * time.Millisecond

// Read is how the host does, with the disk that storePath lies on.
func Read(storePath string) (Load, error) { return host.read(storePath) }

var host = cache{now: time.Now, look: look}

// cache remembers the last answer. Who comes while it is being looked up
// waits for that answer.
type cache struct {
	now  func() time.Time
	look func(storePath string) (Load, error)

	mu   sync.Mutex
	path string
	at   time.Time
	load Load
}

func (c *cache) read(storePath string) (Load, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := c.now().Sub(c.at); c.path != storePath || c.at.IsZero() || age < 0 || age >= fresh {
		load, err := c.look(storePath)
		if err != nil {
			return Load{}, err
		}
		c.path, c.at, c.load = storePath, c.now(), load
	}
	given := c.load
	given.Pressure = maps.Clone(given.Pressure)
	return given, nil
}
