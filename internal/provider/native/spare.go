//go:build linux

package native

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// spares keeps some boxes ready ahead while boxes are being made in quick
// succession: an agent that tries things, a race. A box that finds a spare
// built just like it takes it over and costs only an exec. When no box has
// been made for a moment the spares are taken down again, so that at rest there
// are none, and when the daemon dies they end by themselves.
//
// A spare is no box: it is not in the ledger and holds no user's data.
type spares struct {
	builder *builder
	scenery *scenery
	store   *layers.Store
	log     *slog.Logger
	home    string

	mu     sync.Mutex
	ready  []*spare
	recent []begun     // the boxes that were started of late, the last one last
	timer  *time.Timer // for the next look at what is wanted
	making bool
	closed bool
	work   sync.WaitGroup // spares being made or taken down

	warm    map[string]warmth // templates whose boxes are kept ready
	heating map[string]bool   // those that one is being made of
}

const sparePrefix = "spare-"

type spare struct {
	id       string
	key      string         // what it was built like
	limits   forkbox.Limits // that its group holds
	instance *instance
	template string // that it is kept ready for
}

// key tells apart boxes that are built differently. The name is not part of
// it: a spare gets its name when it is taken.
func (p *plan) key() string {
	var b strings.Builder
	b.WriteString(string(p.box.Net) + "\x00" + p.box.Network.CA + "\x00" + fmt.Sprint(p.box.Network.LetIn))
	for _, v := range p.views {
		b.WriteString("\x00" + v.Path)
		b.WriteByte(byte(v.Kind))
		b.WriteByte(byte(v.Attr))
	}
	b.WriteString("\x00" + strconv.Itoa(p.age)) // another filesystem may be where one was
	b.WriteString(p.concealed.veilKey)
	b.WriteString("\x00" + p.box.Base.Root + "\x00" + strings.Join(p.box.Layers, " ") + "\x00" + strings.Join(p.box.StillLayers(), " "))
	return b.String()
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

// build makes a spare.
func (s *spares) build(like forkbox.Box) (*spare, error) {
	s.scenery.ageVeils() // now there is time; the box that takes the spare has none
	made, plan, err := s.raise(like)
	if err != nil {
		return nil, err
	}
	err = s.builder.unmoved(plan)
	if err == nil && plan.gated() {
		err = made.instance.readyDevice(context.Background())
	}
	if err == nil {
		err = made.instance.enclosure.readyFirst()
	}
	if err != nil {
		s.drop(made)
		return nil, err
	}
	return made, nil
}

// raise starts a spare that is built like a given box.
func (s *spares) raise(like forkbox.Box) (*spare, *plan, error) {
	var random [6]byte
	rand.Read(random[:])
	like.ID, like.Name = sparePrefix+hex.EncodeToString(random[:]), "spare"
	like.Policy = onlyGrouped(like.Policy)
	b, ctx := s.builder, context.Background()
	plan, err := b.outline(like)
	if err != nil {
		return nil, nil, err
	}
	plan.spare = true
	if err := b.store.Create(ctx, like.ID); err != nil {
		return nil, nil, err
	}
	i, err := b.start(ctx, plan)
	if err == nil {
		_, err = i.Processes(ctx) // until it answers it is not ready
	}
	made := &spare{id: like.ID, key: plan.key(), limits: grouped(like.Policy), instance: i}
	if err != nil {
		s.drop(made)
		return nil, nil, err
	}
	return made, plan, nil
}

// unmoved is an error when mounts came or went while a spare was built: it may
// show what is not there any more.
func (b *builder) unmoved(plan *plan) error {
	if !plan.onReality() {
		return nil
	}
	_, _, age, err := b.mounts.Mounts()
	if err == nil && age != plan.age {
		err = errors.New("the host's mounts have changed")
	}
	return err
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
	_ = s.store.Remove(ctx, old.id)
}

// clear removes the spares of an earlier daemon.
func (s *spares) clear(ctx context.Context) error {
	ids, err := s.store.List()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if strings.HasPrefix(id, sparePrefix) {
			old := &spare{id: id}
			if i, err := s.builder.attach(ctx, forkbox.Box{ID: id}); err == nil {
				old.instance = i
			}
			s.drop(old)
		}
	}
	return nil
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
	s.closed, s.recent = true, nil
	s.mu.Unlock()
	s.work.Wait()
	p.DropSpares()
	return p.governor.close()
}
