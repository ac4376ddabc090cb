package terminal

import (
	"os"

	"github.com/forkbox/forkbox"
	"golang.org/x/term"
)

func TerminalSize(f *os.File) forkbox.Size {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return forkbox.Size{Rows: 24, Cols: 80}
	}
	return forkbox.Size{Rows: uint16(rows), Cols: uint16(cols)}
}

// RawTerminal hands every key to the command's own terminal, ctrl-C included.
// The function it returns puts the caller's back.
func RawTerminal(in *os.File) (restore func()) {
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
