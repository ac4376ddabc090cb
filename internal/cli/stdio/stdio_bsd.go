//go:build unix && !linux

package stdio

import "os"

// mayHandOver: a pipe with a name cannot be told from one without here, so all
// are relayed.
func mayHandOver(*os.File) bool { return false }

// unread is not known here.
func unread(uintptr) int64 { return 0 }

// inheritedPipes: only Linux has boxes to hand them to.
func inheritedPipes() map[int]*os.File { return nil }
