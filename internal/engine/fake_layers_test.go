package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// fakeShelf is what an imaginary machine has of boxes' files. A box, and a
// layer, holds words; what a box shows are those of its layers, the lowest
// first, and its own.
type fakeShelf struct {
	*host
	stacks bool
	tops   map[string][]string // by box; one that has nothing of its own has none
	clones map[string]string   // by box: the layer that its top began as
	layers map[string][]string
}

func newFakeShelf(stacks bool) *fakeShelf {
	return &fakeShelf{host: newHost(), stacks: stacks, tops: map[string][]string{}, clones: map[string]string{}, layers: map[string][]string{}}
}

// shows is what a stack of layers with something over it shows.
func (s *fakeShelf) shows(layers, top []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, l := range slices.Backward(layers) {
		of, ok := s.layers[l]
		if !ok {
			return "", fmt.Errorf("layer %s is gone", l)
		}
		words = append(words, of...)
	}
	return strings.Join(append(words, top...), " "), nil
}

func (s *fakeShelf) top(box string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tops[box]
}

// below are the layers that a box lies over. One that a crash kept from saying
// so has a copy of the topmost.
func (s *fakeShelf) below(box forkbox.Box) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(box.Layers) > 0 && s.clones[box.ID] == box.Layers[0] {
		return box.Layers[1:]
	}
	return box.Layers
}

// layeredProvider is one engine's way to the shelf.
type layeredProvider struct {
	fakeProvider
	shelf *fakeShelf
}

var _ core.Layered = layeredProvider{}

// complete says whether all layers of a box are there. The caller has the lock.
func (p layeredProvider) complete(box forkbox.Box) error {
	for _, l := range box.Layers {
		if _, ok := p.shelf.layers[l]; !ok {
			return forkbox.Errorf(forkbox.NotFound, "start", "layer %s is gone", l)
		}
	}
	return nil
}

func (p layeredProvider) Start(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	p.mu.Lock()
	err := p.complete(box)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return wrapped(p.fakeProvider.Start(ctx, box))
}

func (p layeredProvider) Attach(ctx context.Context, box forkbox.Box) (forkbox.Instance, error) {
	return wrapped(p.fakeProvider.Attach(ctx, box))
}

// felled is an instance that can be killed without waiting for its end.
type felled struct{ fakeInstance }

func wrapped(i forkbox.Instance, err error) (forkbox.Instance, error) {
	if err != nil {
		return nil, err
	}
	return felled{i.(fakeInstance)}, nil
}

func (i felled) Abandon() error {
	if err := i.p.act("abandon", func() error { return nil }); err != nil {
		return err
	}
	i.die(true)
	return nil
}

func (p layeredProvider) Remove(ctx context.Context, box forkbox.Box) error {
	if err := p.fakeProvider.Remove(ctx, box); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.shelf.tops, box.ID)
	return nil
}

func (p layeredProvider) Blank(_ context.Context, box forkbox.Box) (bool, error) {
	return len(p.shelf.top(box.ID)) == 0, nil
}

func (p layeredProvider) Stacks() bool { return p.shelf.stacks }

func (p layeredProvider) Shelve(_ context.Context, box forkbox.Box, layer string) error {
	return p.act("shelve", func() error {
		if p.instances[box.ID] != nil {
			return errors.New("it runs")
		}
		if _, done := p.shelf.layers[layer]; !done {
			p.shelf.layers[layer] = p.shelf.tops[box.ID]
			delete(p.shelf.tops, box.ID)
			delete(p.shelf.clones, box.ID)
		}
		return nil
	})
}

func (p layeredProvider) ShelvedFrom(string) (string, int, bool) { return "", 0, false }

func (p layeredProvider) Unshelve(context.Context, forkbox.Box, string) error {
	return errors.New("nothing was lost")
}

func (p layeredProvider) Copy(_ context.Context, box forkbox.Box, layer string) error {
	return p.act("copy", func() error {
		p.shelf.layers[layer] = slices.Clone(p.shelf.tops[box.ID])
		return nil
	})
}

func (p layeredProvider) CopyRunning(ctx context.Context, box forkbox.Box, _ forkbox.Instance, layer string) (time.Duration, error) {
	return time.Millisecond, p.Copy(ctx, box, layer)
}

func (p layeredProvider) Settle(_ context.Context, box forkbox.Box) (layers []string, err error) {
	if p.shelf.stacks || len(box.Layers) == 0 {
		return box.Layers, nil
	}
	err = p.act("settle", func() error {
		if _, has := p.shelf.tops[box.ID]; !has {
			p.shelf.tops[box.ID] = slices.Clone(p.shelf.layers[box.Layers[0]])
			p.shelf.clones[box.ID] = box.Layers[0]
		}
		if layers = box.Layers; p.shelf.clones[box.ID] == layers[0] {
			layers = layers[1:]
		}
		return p.complete(box)
	})
	return layers, err
}

func (p layeredProvider) Look(context.Context, forkbox.Box) (*os.File, func(), error) {
	root, err := os.Open(os.TempDir())
	return root, func() { root.Close() }, err
}

func (p layeredProvider) Flatten(_ context.Context, stack []string, into string) error {
	return p.act("flatten", func() error {
		var words []string
		for _, l := range slices.Backward(stack) {
			of, ok := p.shelf.layers[l]
			if !ok {
				return forkbox.Errorf(forkbox.NotFound, "flatten", "layer %s is gone", l)
			}
			words = append(words, of...)
		}
		p.shelf.layers[into] = words
		return nil
	})
}

func (p layeredProvider) Layers(context.Context) (ids []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.shelf.layers {
		ids = append(ids, id)
	}
	return ids, nil
}

func (p layeredProvider) RemoveLayer(_ context.Context, layer string) error {
	return p.act("remove layer", func() error { delete(p.shelf.layers, layer); return nil })
}

func (p layeredProvider) Roots(context.Context) ([]string, error)  { return nil, nil }
func (p layeredProvider) RemoveRoot(context.Context, string) error { return nil }
func (p layeredProvider) Storage() (name, why string)              { return "fake", "for tests" }
