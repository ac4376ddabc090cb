//go:build linux

package native

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// adopt makes a spare the instance of a box that was never started. It
// returns nil where there is none that fits.
func (b *builder) adopt(ctx context.Context, plan *plan) *instance {
	s := b.spares.take(plan.key())
	if s == nil {
		return nil
	}
	id := plan.box.ID
	if err := b.moveIn(ctx, s, id); err != nil {
		b.spares.drop(s)
		return nil
	}
	if err := errors.Join(s.limitTo(plan.box.Policy), b.governor.quota(ctx, plan.box, false)); err != nil {
		b.spares.drop(&spare{id: s.id, instance: s.instance})
		return nil
	}
	if err := s.instance.claim(plan.box); err != nil {
		_ = s.instance.Stop(context.WithoutCancel(ctx), 0)
		return nil
	}
	return s.instance
}

// limitTo has the policy of its box hold for what was a spare. It does so
// already as a rule: it was made like the box before.
func (s *spare) limitTo(policy forkbox.Policy) error {
	if !maps.Equal(s.limits, grouped(policy)) {
		return s.instance.enclosure.limitTo(policy)
	}
	s.instance.enclosure.know(policy)
	return nil
}

// moveIn makes what the spare writes to, and where it listens, the box's.
func (b *builder) moveIn(ctx context.Context, s *spare, id string) error {
	// In one step, as a rule: a box that was never started has nothing.
	err := b.store.Replace(s.id, id)
	if errors.Is(err, os.ErrExist) {
		err = b.moveBeside(ctx, s, id)
	}
	if err == nil {
		s.instance.moveTo(b.socket(id))
	}
	return err
}

// moveBeside leaves what the box has: logs of commands that could not be
// started, a limit on its disk. What it has written stays in any case.
func (b *builder) moveBeside(ctx context.Context, s *spare, id string) error {
	if _, err := os.Lstat(b.store.Top(id)); !errors.Is(err, os.ErrNotExist) {
		return os.ErrExist
	}
	err := os.Rename(b.store.Top(s.id), b.store.Top(id))
	if err == nil {
		err = os.Rename(b.socket(s.id), b.socket(id))
	}
	if err == nil {
		b.spares.later(func() { _ = b.store.Remove(context.WithoutCancel(ctx), s.id) })
	}
	return err
}

// claim gives a spare the name of its box. It does not wait: init does what it
// is told in order, so an exec comes after it, and ends if it cannot.
func (i *instance) claim(box forkbox.Box) error {
	return i.conn.Send(boxinit.Request{Verb: boxinit.DoClaim, ID: box.Name, Hosts: hosts(box)})
}

// id is the box's: a spare's changes when it is taken.
func (i *instance) id() string { return filepath.Base(filepath.Dir(i.at())) }

// at is where the instance's socket is.
func (i *instance) at() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.socket
}

// moveTo says where the instance's socket is now.
func (i *instance) moveTo(socket string) {
	i.mu.Lock()
	i.socket = socket
	i.mu.Unlock()
}
