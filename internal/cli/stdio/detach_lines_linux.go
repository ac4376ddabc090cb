package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// DetachableLines has a terminal hand over what was typed as soon as ctrl-Q is,
// which it would take for itself otherwise. Lines, echo and ctrl-C stay as they
// are. The function it returns puts it back.
func DetachableLines(in *os.File) (restore func()) {
	fd := int(in.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	now := *was
	now.Iflag &^= unix.IXON
	now.Cc[unix.VEOL] = ctrlQ
	if unix.IoctlSetTermios(fd, unix.TCSETS, &now) != nil {
		return func() {}
	}
	return func() { unix.IoctlSetTermios(fd, unix.TCSETS, was) }
}
