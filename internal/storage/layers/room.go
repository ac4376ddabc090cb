package layers

import (
	"errors"
	"io/fs"

	"github.com/forkbox/forkbox/internal/storage/quota"
)

// room is what forkbox and overlayfs need in a top to start its box.
var room = allowance{2 << 20, 64}

// ease sees to it that there is room in a limited top for what forkbox itself
// makes there: a box that is full can be started, and cleaned up. The next
// [Store.SetQuota] takes back what was not needed.
func (s *Store) ease(box string) error {
	if s.holder == nil {
		return nil
	}
	a, noted := s.allowance(box)
	if !noted || a == unlimited {
		return nil
	}
	bytes, files, err := s.holder.Used(s.Top(box))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, quota.ErrUncounted):
		return nil
	case err != nil:
		return err
	}
	eased := allowance{atLeast(a.bytes, bytes+room.bytes), atLeast(a.files, files+room.files)}
	if eased == a {
		return nil
	}
	return s.hold(s.Top(box), eased)
}

func atLeast(limit, least int64) int64 {
	if limit == quota.None {
		return limit
	}
	return max(limit, least)
}
