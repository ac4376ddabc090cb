//go:build linux

package native

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
	mu       sync.Mutex
	starting int
	own      []byte // what init has of itself; nil: not looked at yet
}

const scoreFile = "/proc/self/oom_score_adj"

// begins is called before a fork.
func (s *score) begins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting++
	if s.own == nil {
		s.own, _ = os.ReadFile(scoreFile)
	}
}

// begun is called when the child has executed its program, or will not.
func (s *score) begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting--; s.starting == 0 && len(s.own) > 0 {
		_ = os.WriteFile(scoreFile, s.own, 0)
	}
}
