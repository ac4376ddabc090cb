package limits

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// kept is for how long what a box used is known.
const kept = time.Hour

// series is what a box used in the last hour, the oldest first. While the box
// runs it is here; a file has it too, so that it outlives this program.
type series struct {
	mu      sync.Mutex
	file    string
	loaded  bool
	samples []forkbox.Stats
	lines   int // that the file has
}

// all is the samples of the last hour.
func (s *series) all(now time.Time) []forkbox.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	s.forget(now)
	return slices.Clone(s.samples)
}

// load reads what an earlier engine, or an earlier run of the box, left.
func (s *series) load() {
	if s.loaded {
		return
	}
	s.samples, s.lines = readSeries(s.file)
	s.loaded = true
}

// forget drops what is too old. A clock that was set back must not keep what
// was measured in the future for ever.
func (s *series) forget(now time.Time) {
	s.samples = slices.DeleteFunc(s.samples, func(x forkbox.Stats) bool {
		age := now.Sub(x.Time)
		return age > kept || age < -kept
	})
}

// add appends a sample. The file is written anew when most of it is old.
func (s *series) add(x forkbox.Stats, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	s.samples = append(s.samples, x)
	s.forget(now)
	if s.file == "" {
		return nil
	}
	if s.lines > 2*len(s.samples)+16 {
		return s.compact()
	}
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	s.lines++
	return appendTo(s.file, append(line, '\n'))
}

func appendTo(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// compact replaces the file in one step.
func (s *series) compact() error {
	var text bytes.Buffer
	for _, x := range s.samples {
		line, err := json.Marshal(x)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	next := s.file + ".new"
	if err := os.WriteFile(next, text.Bytes(), 0o600); err != nil {
		return err
	}
	s.lines = len(s.samples)
	return os.Rename(next, s.file)
}

// readSeries reads a file of samples. A line that a crash cut off is not one.
func readSeries(file string) (samples []forkbox.Stats, lines int) {
	if file == "" {
		return nil, 0
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	for text := bufio.NewScanner(f); text.Scan(); lines++ {
		var x forkbox.Stats
		if json.Unmarshal(text.Bytes(), &x) == nil && !x.Time.IsZero() {
			samples = append(samples, x)
		}
	}
	return samples, lines
}

// BeginSeries has a running instance go on with what its box used before.
func (m *Manager) BeginSeries(a *core.Attached, box string) {
	gauges.Of(a).series.file = m.seriesFile(box)
}

// DropSeries forgets what a box used, with the box.
func (m *Manager) DropSeries(box string) {
	file := m.seriesFile(box)
	if file == "" {
		return
	}
	for _, name := range []string{file, file + ".new"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.core.Log.Warn("cannot remove what was measured of a box", "box", box, "error", err)
		}
	}
}
