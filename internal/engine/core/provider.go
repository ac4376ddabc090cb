package core

import (
	"context"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// Layered is a provider whose boxes consist of layers, so that a box can be
// saved, gone back with and forked.
type Layered interface {
	// Blank says whether a box has written nothing over its layers.
	Blank(ctx context.Context, box forkbox.Box) (bool, error)
	// Stacks says whether boxes lie over their layers, or begin as copies.
	Stacks() bool
	// Shelve turns what a box wrote, which does not run, into a layer: the box
	// has nothing of its own afterwards. It can be repeated after a crash.
	Shelve(ctx context.Context, box forkbox.Box, layer string) error
	// ShelvedFrom says whose writes became a layer, and Box.Shelved of then.
	ShelvedFrom(layer string) (box string, times int, ok bool)
	// Unshelve takes back a Shelve, where the box has nothing of its own.
	Unshelve(ctx context.Context, box forkbox.Box, layer string) error
	// Copy makes a layer of what a box wrote, which does not run and keeps it.
	Copy(ctx context.Context, box forkbox.Box, layer string) error
	// CopyRunning does so for one that runs, whose processes stand still
	// meanwhile.
	CopyRunning(ctx context.Context, box forkbox.Box, running forkbox.Instance, layer string) (paused time.Duration, err error)
	// Settle is called before a box at rest is started. It may give the box
	// something of its own and say that it lies over fewer layers then.
	Settle(ctx context.Context, box forkbox.Box) (layers []string, err error)
	// Look shows the files of a box that does not run.
	Look(ctx context.Context, box forkbox.Box) (root *os.File, done func(), err error)

	// Flatten makes one layer that shows what a stack of them shows.
	Flatten(ctx context.Context, stack []string, into string) error
	Layers(ctx context.Context) ([]string, error)
	// RemoveLayer deletes a layer that nothing needs. It can be repeated.
	RemoveLayer(ctx context.Context, layer string) error
	// Roots lists the directories that bases other than reality lie in, as
	// far as they are the provider's own.
	Roots(ctx context.Context) ([]string, error)
	// RemoveRoot deletes one that nothing needs. It can be repeated.
	RemoveRoot(ctx context.Context, dir string) error
	// Storage says how layers are kept, and why so.
	Storage() (name, why string)
}

// Stilled is a provider that keeps the data of services as layers that boxes begin
// with.
type Stilled interface {
	// TakeStill makes a layer that has paths of the machine as copy puts them
	// there: put says where. When it fails nothing is left.
	TakeStill(ctx context.Context, layer string, owner forkbox.Owner, paths []string, copy func(put func(path string) (string, error)) error) error
	// StillDir is a directory on the filesystem that stills lie on.
	StillDir() string
}

// Layers is the provider, if its boxes have layers.
func (c *Core) Layers(op string) (Layered, error) {
	if p, ok := c.Provider.(Layered); ok {
		return p, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s keeps no layers", c.Provider.Name())
}

// Records are what the store says of itself, whatever the ledger says.
type Records interface {
	// Boxes and Templates are those that have a record. Some that cannot be
	// read are an error beside the others.
	Boxes() ([]forkbox.BoxRecord, error)
	Templates() ([]forkbox.Template, error)
	// Box is the record of one, if it has one that can be read.
	Box(id string) (record forkbox.BoxRecord, ok bool)
}

// IsKept says whether the store has a record of a box.
func (c *Core) IsKept(box string) bool {
	if c.Records == nil {
		return false
	}
	_, ok := c.Records.Box(box)
	return ok
}
