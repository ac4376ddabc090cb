package stdio

// The keys that leave a command alone: ctrl-P ctrl-Q, as elsewhere.
const (
	ctrlP = 'P' - '@'
	ctrlQ = 'Q' - '@'
)

// detachKeys finds them among what is typed.
type detachKeys struct {
	held bool // a ctrl-P, until the next key says what it was
}

// pass is what of the keys is the command's, and whether it is left alone now.
func (d *detachKeys) pass(keys []byte) (rest []byte, detach bool) {
	for _, key := range keys {
		if d.held {
			d.held = false
			if key == ctrlQ {
				return rest, true
			}
			rest = append(rest, ctrlP)
		}
		if key == ctrlP {
			d.held = true
			continue
		}
		rest = append(rest, key)
	}
	return rest, false
}
