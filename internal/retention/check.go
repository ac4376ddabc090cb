package retention

import "github.com/forkbox/forkbox"

// Check refuses a request that no gc can mean. A negative age would be a date
// in the future, and remove everything.
func Check(spec forkbox.GCSpec) error {
	const op = "clear up"
	switch {
	case spec.OlderThan < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "an age of %s is below zero", spec.OlderThan)
	case spec.IdleFor < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "an idle time of %s is below zero", spec.IdleFor)
	case spec.MaxSize < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "a size of %d bytes is below zero", spec.MaxSize)
	}
	return nil
}
