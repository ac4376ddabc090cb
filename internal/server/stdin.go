package server

import "os"

// stdinFile is a pipe that holds what a detached exec is to read; nil for
// nothing. A pipe, not a temporary file: the box must hold no file of reality.
func stdinFile(text []byte) (*os.File, error) {
	if len(text) == 0 {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		w.Write(text) // ends early when the exec does: the reader is gone
		w.Close()
	}()
	return r, nil
}
