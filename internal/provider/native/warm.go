//go:build linux

package native

import (
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// warmth is a template whose boxes are kept ready.
type warmth struct {
	like forkbox.Box
	n    int
}

// rewarm is how long after a failure another attempt is made.
const rewarm = 5 * time.Second

// Warm keeps n boxes ready that are built like this one; with none it stops
// doing so. key tells them apart.
func (p *Provider) Warm(key string, like forkbox.Box, n int) {
	s := p.spares
	built := ""
	if plan, err := p.builder.outline(like); err == nil && n > 0 {
		built = plan.key()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warm == nil {
		s.warm = map[string]warmth{}
	}
	if n == 0 {
		delete(s.warm, key)
	} else {
		s.warm[key] = warmth{like, n}
	}
	s.cool(key, built, n)
	s.heat(key)
}

// Warmed says whether boxes are kept ready, so that the daemon should stay.
func (p *Provider) Warmed() bool {
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	return len(p.spares.warm) > 0
}

// cool takes down those that are too many, or not built as they should be. The
// caller has the lock.
func (s *spares) cool(key, built string, n int) {
	have := 0
	s.ready = slices.DeleteFunc(s.ready, func(r *spare) bool {
		if r.template != key {
			return false
		}
		if r.key == built && have < n {
			have++
			return false
		}
		go s.later(func() { s.drop(r) })
		return true
	})
}

// heat makes those that are too few, one after the other. The caller has the
// lock.
func (s *spares) heat(key string) {
	w, ok := s.warm[key]
	have := 0
	for _, r := range s.ready {
		if r.template == key {
			have++
		}
	}
	if !ok || have >= w.n || s.closed || s.heating[key] {
		return
	}
	if s.heating == nil {
		s.heating = map[string]bool{}
	}
	s.heating[key] = true
	s.work.Add(1)
	go s.heatOne(key, w.like)
}

func (s *spares) heatOne(key string, like forkbox.Box) {
	defer s.work.Done()
	made, err := s.build(like)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heating[key] = false
	if err != nil {
		s.log.Warn("a template cannot be kept warm", "template", key, "error", err)
		time.AfterFunc(rewarm, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heat(key)
		})
		return
	}
	made.template = key
	if _, wanted := s.warm[key]; !wanted || s.closed {
		s.work.Go(func() { s.drop(made) })
		return
	}
	s.ready = append(s.ready, made)
	s.heat(key)
}
