package server

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox"
)

// hintRoom adds to an error of a full disk what gives room. Of files alone: the
// kernel says the same of mounts and namespaces that there are too many of.
func hintRoom(e *forkbox.Error, err error) {
	var file *fs.PathError
	if !errors.As(err, &file) || !errors.Is(file, syscall.ENOSPC) || strings.HasPrefix(file.Path, "/sys/") {
		return
	}
	for _, hint := range e.Hints {
		if strings.HasPrefix(hint, "free some") {
			return
		}
	}
	e.Hint("free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it")
}
