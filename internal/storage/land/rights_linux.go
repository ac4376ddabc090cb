package land

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Rights say where a landing for an owner could put something, before it does.
type Rights struct {
	actor *files.Actor
	tree  files.Tree
	known map[string]bool
}

// NewRights are those of an owner, or of this process if it is nil.
func NewRights(root *os.File, owner *forkbox.Owner) (*Rights, error) {
	a, err := files.ActAs(owner)
	if err != nil {
		return nil, err
	}
	return &Rights{actor: a, tree: files.Tree{Root: int(root.Fd())}, known: map[string]bool{}}, nil
}

// Close ends them.
func (r *Rights) Close() {
	r.tree.Forget()
	r.actor.Stop()
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
	err := r.actor.Do(func() error {
		fd, err := r.tree.Dir(dir)
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

// Look says what a tree has at a path, as an item expects it: nil is nothing.
func Look(root *os.File, path string) (*forkbox.Identity, error) {
	t := &files.Tree{Root: int(root.Fd())}
	defer t.Forget()
	o, err := t.Look(path)
	if err != nil || o == nil {
		return nil, failed(opLand, path, err)
	}
	return &o.Identity, nil
}
