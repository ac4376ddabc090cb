// Package services is the engine's manager of copies of services: it takes the data
// of what runs on the machine at one moment (a still), and has copies of the
// services come up with boxes, on the same ports.
package services

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
	"github.com/forkbox/forkbox/internal/engine/forks"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// Machine knows the services of this machine.
type Machine interface {
	// Find lists those of a user, or of all for root, and the containers that the
	// user may know of. The notes say what could not be found out.
	Find(ctx context.Context, who forkbox.Owner) (found []forkbox.Service, notes []string, err error)
	// StartOf says how a copy of one is started. env takes credentials out of its
	// environment.
	StartOf(ctx context.Context, s forkbox.Service, env func([]string) []string) (forkbox.ServiceStart, error)
	// Paths are where a service keeps its data: what Copy copies. What is not of
	// the caller, other than root, is refused: where links of a process lead is for
	// its user to choose.
	Paths(ctx context.Context, s forkbox.Service, uid int) ([]string, error)
	// MayCopy refuses data that a caller named who could not see it in a box, or
	// that is another service's. places are those of the caller's credentials.
	MayCopy(ctx context.Context, who forkbox.Owner, s forkbox.Service, places []string) error
	// Copy copies the data of services as it is at one moment. It fails rather
	// than have one stand still for longer than it may.
	Copy(ctx context.Context, list []forkbox.Service, spec CopySpec) (Copied, error)
	// Predict says how Copy would do it, into a directory on the filesystem of
	// near, and for how long the services would stand still.
	Predict(ctx context.Context, list []forkbox.Service, near string) (way string, pause time.Duration, err error)
}

// CopySpec is how data is to be copied.
type CopySpec struct {
	Put      func(path string) (string, error) // where the copy of a path goes
	MaxPause time.Duration
	// Settings are what the caller says of services, by name: by which way their data
	// is copied, and which.
	Settings map[string]forkbox.ServiceSettings
}

// Copied is how each path was that was put somewhere.
type Copied map[string]CopiedPart

// CopiedPart is how one was.
type CopiedPart struct {
	Way    string
	Paused time.Duration // how long its service stood still
	Bytes  int64
}

// of is how the paths of one service were copied.
func (c Copied) of(paths []string) (sum CopiedPart) {
	for _, path := range paths {
		part, ok := c[path]
		if !ok {
			continue // it lies in another
		}
		sum = CopiedPart{part.Way, part.Paused, sum.Bytes + part.Bytes}
	}
	return sum
}

// Manager is safe for concurrent use.
type Manager struct {
	core    *core.Core
	network *network.Manager
	shelf   *shelf.Manager
	boxes   *boxes.Manager
	execs   *execs.Manager
	forks   *forks.Manager

	machine Machine       // may be nil
	taking  chan struct{} // has a token: the caller who takes a still holds it
}

// New makes a manager. Without a machine no box has services.
func New(c *core.Core, n *network.Manager, sh *shelf.Manager, b *boxes.Manager, x *execs.Manager, f *forks.Manager, machine Machine) *Manager {
	return &Manager{core: c, network: n, shelf: sh, boxes: b, execs: x, forks: f, machine: machine, taking: make(chan struct{}, 1)}
}

// needMachine is why there are no services, if there are none.
func (m *Manager) needMachine(op string) error {
	if m.machine == nil {
		return forkbox.Errorf(forkbox.Unsupported, op, "this daemon cannot")
	}
	return nil
}
