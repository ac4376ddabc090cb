package daemon

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/policy"
	"golang.org/x/sys/unix"
)

// policies has the daemon's configuration decide, by how the host does.
type policies struct {
	now   atomic.Pointer[policy.Config]
	store string
	pool  string // where the pool is mounted; "" without one
}

func newPolicies(config policy.Config, store string) *policies {
	p := &policies{store: store}
	p.set(config)
	return p
}

// set has another configuration decide from now on.
func (p *policies) set(config policy.Config) { p.now.Store(&config) }

// unmeasured are the pressures that the configuration counts on and this kernel
// does not measure.
func (p *policies) unmeasured() []string {
	load, err := hostload.Read(p.store)
	if err != nil {
		return nil // then nothing is admitted, with that reason
	}
	return p.now.Load().Unmeasured(load)
}

func (p *policies) Resolve(owner forkbox.Owner, wish forkbox.Wish, holds map[forkbox.Resource]forkbox.Holding, box forkbox.Policy, exec bool) (forkbox.Policy, error) {
	return p.now.Load().Resolve(policy.Request{Owner: owner, Wish: wish, Holds: holds, Box: box, Exec: exec})
}

func (p *policies) Admit(now forkbox.Committed, want forkbox.Want) forkbox.Verdict {
	load, err := hostload.Read(p.store)
	if err != nil {
		return forkbox.Verdict{Why: "it is not known how the host does: " + err.Error(), Wait: true}
	}
	config := p.now.Load()
	for _, load := range p.loads(load) {
		if v := config.Admit(load, now, want); !v.OK {
			return v
		}
	}
	return forkbox.Verdict{OK: true}
}

// loads is how the host does and, where boxes are kept in a pool, the same with
// the pool's disk: either of the two can be full.
func (p *policies) loads(host hostload.Load) []hostload.Load {
	var fs unix.Statfs_t
	if p.pool == "" || unix.Statfs(p.pool, &fs) != nil {
		return []hostload.Load{host}
	}
	pool := host
	pool.DiskTotal, pool.DiskFree = int64(fs.Blocks)*fs.Bsize, int64(fs.Bavail)*fs.Bsize
	pool.InodesTotal, pool.InodesFree = 0, 0
	return []hostload.Load{host, pool}
}

func (p *policies) Patience() time.Duration { return p.now.Load().Admission.Wait }

// short says whether the disk that the host keeps for itself is being used.
func (p *policies) short() (bool, string) {
	load, err := hostload.Read(p.store)
	if err != nil {
		return false, ""
	}
	for i, load := range p.loads(load) {
		if kept := p.now.Load().KeptDisk(load.DiskTotal); load.DiskFree < kept {
			where := []string{"the host", "the pool"}[i]
			return true, where + " has " + forkbox.FormatSize(load.DiskFree) + " of disk left and keeps " + forkbox.FormatSize(kept) + " for itself"
		}
	}
	return false, ""
}

// hostPids is the share of all processes of a host that boxes may have.
const hostPids = 0.75

// reserve limits all boxes together, so that the host goes on whatever they do.
func (p *policies) reserve(boxes provider, log *slog.Logger) {
	all, ok := boxes.(reserver)
	if !ok {
		log.Debug("boxes together are not limited", "why", "provider "+boxes.Name()+" cannot")
		return
	}
	load, err := hostload.Read(p.store)
	if err != nil {
		log.Warn("the host keeps nothing for itself", "why", err)
		return
	}
	most := forkbox.Limits{
		forkbox.Memory: load.MemTotal - p.now.Load().KeptMemory(load.MemTotal),
		forkbox.Pids:   int64(float64(linux.MaxPids()) * hostPids),
	}
	if err := all.Reserve(most); err != nil {
		log.Debug("boxes together are not limited", "why", err)
	}
}

// bootClock is what deadlines are counted by.
func bootClock() func() (string, time.Duration) {
	id := linux.BootID()
	return func() (string, time.Duration) { return id, linux.SinceBoot() }
}
