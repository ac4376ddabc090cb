package land

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Rights say where a landing for an owner could put something, before it does.
type Rights struct {
	actor *actor
	tree  tree
	known map[string]bool
}

// NewRights are those of an owner, or of this process if it is nil.
func NewRights(root *os.File, owner *forkbox.Owner) (*Rights, error) {
	a, err := actAs(owner)
	if err != nil {
		return nil, err
	}
	return &Rights{actor: a, tree: tree{root: int(root.Fd())}, known: map[string]bool{}}, nil
}

// Close ends them.
func (r *Rights) Close() {
	r.tree.forget()
	r.actor.stop()
}

// maxRights bounds what is remembered.
const maxRights = 100_000

// MayChange says whether something may be put into a directory, or taken out of
// it. Of one that is not there, or cannot be looked at, a landing says it.
func (r *Rights) MayChange(dir string) bool {
	may, ok := r.known[dir]
	if ok {
		return may
	}
	err := r.actor.do(func() error {
		fd, err := r.tree.dir(dir)
		if err == nil {
			err = unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		}
		return err
	})
	may = !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EROFS)
	if len(r.known) < maxRights {
		r.known[dir] = may
	}
	return may
}
