package change

import "github.com/forkbox/forkbox"

// OldIdentity is that of what reality had when it was compared: no call to the
// kernel is needed.
func (e *entry) OldIdentity() (forkbox.Identity, error) {
	if e.hidden || e.state == missing {
		return forkbox.Identity{}, e.notThere("look at")
	}
	return e.base.identity(), nil
}

// NewIdentity is that of what the box had when it was compared.
func (e *entry) NewIdentity() (forkbox.Identity, error) {
	if e.gone {
		return forkbox.Identity{}, e.notThere("look at")
	}
	return e.up.identity(), nil
}
