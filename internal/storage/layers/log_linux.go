package layers

import (
	"errors"
	"os"

	"github.com/forkbox/forkbox/internal/linux"
)

// CreateLog opens an exec's log for its box's init, who adds to it. Root in a
// box of root's can reach init's open files: the log is not root's.
func (s *Store) CreateLog(id, exec string) (*os.File, error) {
	f, err := os.OpenFile(s.Log(id, exec), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil || !linux.RealRoot() {
		return f, err
	}
	if err := linux.Disown(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
