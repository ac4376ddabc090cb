//go:build linux

package native

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// spares keeps some boxes ready ahead while boxes are being made in quick
// succession: an agent that tries things, a race. A box that finds a spare
// built just like it takes it over and costs only an exec. When no box has
// been made for a moment the spare is taken down again, so that at rest there
// is none, and when the daemon dies it ends by itself.
//
// A spare is no box: it is not in the ledger and holds nobody's data.
type spares struct {
	provider *Provider

	mu     sync.Mutex
	ready  []*spare
	making bool
	closed bool
	work   sync.WaitGroup // spares being made or taken down
	last   time.Time      // when the last box was made

	warm    map[string]warmth // templates whose boxes are kept ready
	heating map[string]bool   // those that one is being made of
}

// succession is how soon after another a box must be made for a spare to be
// kept, and how long it is kept.
const succession = 2 * time.Second

const maxSpares = 1

// headStart is what the box just started gets before the next spare competes
// with it for the processors.
const headStart = 4 * time.Millisecond

const sparePrefix = "spare-"

type spare struct {
	id       string
	key      string // what it was built like
	instance *instance
	template string // that it is kept ready for
}

// key tells apart boxes that are built differently. The name is not part of
// it: a spare gets its name when it is taken.
func (p *plan) key() string {
	var b strings.Builder
	b.WriteString(string(p.box.Net) + "\x00" + p.box.Network.CA)
	for _, v := range p.views {
		b.WriteString("\x00" + v.Path)
		b.WriteByte(byte(v.Kind))
		b.WriteByte(byte(v.Attr))
	}
	b.WriteString(p.concealed.veilKey)
	b.WriteString("\x00" + p.box.Base.Root + "\x00" + strings.Join(p.box.Layers, " "))
	return b.String()
}

// adopt makes a spare the instance of a box that was never started. It
// returns nil where there is none that fits.
func (p *Provider) adopt(ctx context.Context, plan *plan) *instance {
	s := p.spares.take(plan.key())
	if s == nil {
		return nil
	}
	id := plan.box.ID
	if _, err := os.Lstat(p.store.Top(id)); !errors.Is(err, os.ErrNotExist) { // it has written something
		p.spares.drop(s)
		return nil
	}
	// What the spare writes to, and where it listens, becomes the box's. The
	// rest of the box's directory, its logs, stays.
	err := os.Rename(p.store.Top(s.id), p.store.Top(id))
	if err == nil {
		err = os.Rename(p.socket(s.id), p.socket(id))
	}
	if err != nil {
		p.spares.drop(s)
		return nil
	}
	s.instance.moveTo(p.socket(id))
	if err := errors.Join(s.instance.limitTo(plan.box.Policy), p.quota(ctx, plan.box, false)); err != nil {
		p.spares.drop(&spare{id: s.id, instance: s.instance})
		return nil
	}
	p.spares.later(func() { _ = p.store.Remove(context.WithoutCancel(ctx), s.id) })
	if err := s.instance.claim(plan.box); err != nil {
		_ = s.instance.Stop(context.WithoutCancel(ctx), 0)
		return nil
	}
	return s.instance
}

func (s *spares) take(key string) *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.ready, func(r *spare) bool { return r.key == key })
	if i < 0 {
		return nil
	}
	taken := s.ready[i]
	s.ready = slices.Delete(s.ready, i, i+1)
	if taken.template != "" {
		// As with spares: the box just started comes first.
		time.AfterFunc(headStart, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heat(taken.template)
		})
	}
	return taken
}

// has says whether a spare is ready that is built like this.
func (s *spares) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.ready, func(r *spare) bool { return r.key == key })
}

// stock makes the next spare in the background, if boxes come quickly.
func (s *spares) stock(plan *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	quick := time.Since(s.last) < succession
	s.last = time.Now()
	if quick {
		s.more(plan.box)
	}
}

// more makes another spare if there are too few. The caller has the lock.
func (s *spares) more(like forkbox.Box) {
	passing := slices.DeleteFunc(slices.Clone(s.ready), func(r *spare) bool { return r.template != "" })
	if len(passing) < maxSpares && !s.making && !s.closed {
		s.making = true
		s.work.Add(1)
		time.AfterFunc(headStart, func() { s.make(like) })
	}
}

func (s *spares) make(like forkbox.Box) {
	defer s.work.Done()
	spare, err := s.build(like)
	if err != nil {
		s.provider.log.Debug("no spare box", "why", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making = false
	if spare != nil {
		s.ready = append(s.ready, spare)
		go s.keep(spare)
		s.more(like)
	}
}

// build starts a box that has nobody's name yet.
func (s *spares) build(like forkbox.Box) (*spare, error) {
	var random [6]byte
	rand.Read(random[:])
	like.ID, like.Name, like.Policy = sparePrefix+hex.EncodeToString(random[:]), "spare", nil
	p, ctx := s.provider, context.Background()
	plan, err := p.outline(like)
	if err != nil {
		return nil, err
	}
	plan.spare = true
	if err := p.store.Create(ctx, like.ID); err != nil {
		return nil, err
	}
	i, err := p.start(ctx, plan)
	if err == nil {
		_, err = i.Processes(ctx) // until it answers it is not ready
	}
	if err == nil && plan.gated() {
		err = i.readyDevice(ctx)
	}
	if err != nil {
		s.drop(&spare{id: like.ID, instance: i})
		return nil, err
	}
	return &spare{id: like.ID, key: plan.key(), instance: i}, nil
}

// keep takes the spare down when boxes stop coming.
func (s *spares) keep(kept *spare) {
	for {
		s.mu.Lock()
		left := succession - time.Since(s.last)
		i := slices.Index(s.ready, kept)
		if i >= 0 && left <= 0 {
			s.ready = slices.Delete(s.ready, i, i+1)
		}
		s.mu.Unlock()
		if i < 0 {
			return
		}
		if left <= 0 {
			s.later(func() { s.drop(kept) })
			return
		}
		time.Sleep(left)
	}
}

// later does something in the background that Close waits for.
func (s *spares) later(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		do()
		return
	}
	s.work.Go(do)
}

func (s *spares) drop(old *spare) {
	ctx := context.Background()
	if old.instance != nil {
		_ = old.instance.Stop(ctx, 0)
	}
	_ = s.provider.store.Remove(ctx, old.id)
}

// clear removes the spares of an earlier daemon.
func (s *spares) clear(ctx context.Context) error {
	ids, err := s.provider.store.List()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if strings.HasPrefix(id, sparePrefix) {
			old := &spare{id: id}
			if i, err := s.provider.Attach(ctx, forkbox.Box{ID: id}); err == nil {
				old.instance = i.(*instance)
			}
			s.drop(old)
		}
	}
	return nil
}

// claim gives a spare the name of its box. It does not wait: init does what it
// is told in order, so an exec comes after it, and ends if it cannot.
func (i *instance) claim(box forkbox.Box) error {
	return i.conn.Send(request{Verb: doClaim, ID: box.Name, Hosts: hosts(box.Name, box.Net)})
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

// claimed is init's side: from here on the box outlives its daemon.
func (p *pid1) claimed(name string, hosts []byte) {
	if err := p.takeName(name, hosts); err != nil {
		fmt.Fprintln(os.Stderr, "forkbox-init: become", name+":", err)
		os.Exit(1)
	}
}

func (p *pid1) takeName(name string, hosts []byte) error {
	p.mu.Lock()
	p.config.Spare = false
	p.mu.Unlock()
	for fd, content := range map[int][]byte{p.config.HostsFD: hosts, p.config.NameFD: []byte(name + "\n")} {
		f := os.NewFile(uintptr(fd), "veil")
		if err := f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.WriteAt(content, 0); err != nil {
			return err
		}
		f.Close()
	}
	return linux.SetHostname(name)
}

// DropSpares takes down the spare boxes that there are.
func (p *Provider) DropSpares() {
	s := p.spares
	s.mu.Lock()
	ready := s.ready
	s.ready = nil
	s.mu.Unlock()
	for _, r := range ready {
		s.drop(r)
	}
}

// Close takes down what the provider keeps for itself. Boxes go on running.
func (p *Provider) Close() error {
	s := p.spares
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	p.DropSpares()
	if p.groups == nil {
		return nil
	}
	// What was still busy when this daemon began, a spare that another one was
	// making when it was killed, has ended by now.
	return errors.Join(p.groups.Sweep(), p.groups.Close())
}
