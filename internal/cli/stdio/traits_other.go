//go:build !linux

package stdio

import "github.com/forkbox/forkbox"

// CallerTraits: they mean something on Linux only.
func CallerTraits() *forkbox.Traits { return nil }
