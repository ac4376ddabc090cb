package daemon

import (
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// openFence makes the clock of fences: a file that is touched to learn what
// time filesystems write on files. The system's own clock is ahead of it by up
// to a tick, so that an edit right after a fork could look older than the fork.
func openFence(home string) (func() time.Time, error) {
	f, err := os.OpenFile(filepath.Join(home, "fence"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, forkbox.Wrap("open the fence", err)
	}
	return func() time.Time {
		if t, err := linux.Stamp(f); err == nil {
			return t
		}
		return time.Now().Add(-stampLag)
	}, nil
}

// stampLag is more than the time of files is behind on any kernel.
const stampLag = 20 * time.Millisecond
