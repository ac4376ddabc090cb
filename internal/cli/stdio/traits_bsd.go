//go:build unix && !linux

package stdio

import (
	"os/signal"
	"syscall"
)

// ignored says whether the caller had us ignore a signal.
func ignored(sig syscall.Signal) bool { return signal.Ignored(sig) }
