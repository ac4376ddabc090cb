//go:build linux

package boxinit

import (
	"os"
	"sync"
)

// score keeps init less expendable than what it starts. Until it executes its
// program a child has init's memory, and the kernel has processes that share
// memory be killed alike: what the child says of itself, see [expendable], goes
// for init too. So init takes it back for itself, when no child shares its
// memory any more.
type score struct {
	file *os.File // opened while init is alone: later root in the box decides what the path leads to
	own  []byte   // what init had of itself then

	mu       sync.Mutex
	starting int
}

// open finds out what init has of itself. Where it may not say so itself, it
// stays as it is.
func (s *score) open() {
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return
	}
	own := make([]byte, 16)
	n, _ := file.ReadAt(own, 0) // fewer, and with them the end of the file
	if n == 0 {
		file.Close()
		return
	}
	s.file, s.own = file, own[:n]
}

// begins is called before a fork.
func (s *score) begins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting++
}

// begun is called when the child has executed its program, or will not.
func (s *score) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting--; s.starting == 0 && s.file != nil {
		_, _ = s.file.WriteAt(s.own, 0)
	}
}
