package terminal

import (
	"os"

	"github.com/forkbox/forkbox"
	"golang.org/x/term"
)

// WindowSize is the size of a terminal, and a usual one where it has none.
func WindowSize(f *os.File) forkbox.Size {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return forkbox.Size{Rows: 24, Cols: 80}
	}
	return forkbox.Size{Rows: uint16(rows), Cols: uint16(cols)}
}

// MakeRaw hands every key to the command's own terminal, ctrl-C included.
// The function it returns puts the caller's back.
func MakeRaw(in *os.File) (restore func()) {
	if !IsTerminal(in) {
		return func() {}
	}
	fd := int(in.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return func() {}
	}
	return func() { term.Restore(fd, was) }
}
