package client

import (
	"os"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// sink is the output of an exec on its way to a file of the caller. It holds no
// more than the daemon sends without an acknowledgement.
type sink struct {
	stream  *stream
	channel int
	file    *os.File // nil: what comes is dropped

	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	seen    int64 // bytes that came
	ended   bool  // nothing more comes
	done    chan struct{}
	running bool
}

func newSink(t *stream, channel int, file *os.File) *sink {
	s := &sink{stream: t, channel: channel, file: file, done: make(chan struct{})}
	s.changed.L = &s.mu
	return s
}

// take keeps what came. It is false when that is more than there may be.
func (s *sink) take(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf)+len(p) > 2*api.StreamWindow { // one that was seen before a loss, and one after it
		return false
	}
	s.buf = append(s.buf, p...)
	s.seen += int64(len(p))
	s.changed.Signal()
	return true
}

func (s *sink) offset() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// skipTo passes over what the daemon does not have.
func (s *sink) skipTo(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, offset)
}

// run writes what comes until there is no more.
func (s *sink) run() {
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	defer close(s.done)
	var spare []byte
	for {
		p, upTo, more := s.next(spare)
		if !more {
			return
		}
		if s.file != nil {
			if _, err := s.file.Write(p); err != nil {
				s.refuse()
			}
		}
		s.acknowledge(upTo)
		spare = p[:0]
	}
}

// next waits for something to write. The buffer changes places with the one that
// was written last.
func (s *sink) next(spare []byte) (p []byte, upTo int64, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.ended {
		s.changed.Wait()
	}
	p, s.buf = s.buf, spare
	return p, s.seen, len(p) > 0
}

func (s *sink) acknowledge(upTo int64) {
	at := forkbox.StreamAt{Stdout: upTo}
	if s.channel == 2 {
		at = forkbox.StreamAt{Stderr: upTo}
	}
	_ = s.stream.say(api.StreamMessage{Type: api.MsgAck, At: &at})
}

// refuse breaks the command's pipe: the caller's has broken.
func (s *sink) refuse() {
	s.file.Close()
	s.file = nil
	name := "stdout"
	if s.channel == 2 {
		name = "stderr"
	}
	_ = s.stream.say(api.StreamMessage{Type: api.MsgCloseOutput, Stream: name})
}

// finish returns when everything that came is written, and closes the file.
func (s *sink) finish() {
	s.mu.Lock()
	s.ended = true
	running := s.running
	s.changed.Signal()
	s.mu.Unlock()
	if running {
		<-s.done
	}
	if s.file != nil {
		s.file.Close()
	}
}
