package client

import (
	"errors"
	"io"
	"sync"
)

// ownErrors is the caller's end of a stream. It remembers what failed there,
// which is not the daemon's fault.
type ownErrors struct {
	read  io.Reader
	write io.Writer

	mu  sync.Mutex // the transport reads in a goroutine of its own
	err error
}

func (s *ownErrors) Read(p []byte) (int, error) {
	n, err := s.read.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.fail(err)
	}
	return n, err
}

func (s *ownErrors) Write(p []byte) (int, error) {
	n, err := s.write.Write(p)
	if err != nil {
		s.fail(err)
	}
	return n, err
}

func (s *ownErrors) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *ownErrors) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
