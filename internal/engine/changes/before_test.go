package changes

import (
	"io/fs"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNoSumOfWhatItsReaderMayNotRead: a sum tells who guesses the content that
// they are right.
func TestNoSumOfWhatItsReaderMayNotRead(t *testing.T) {
	who := forkbox.Owner{UID: 1000, GID: 1000, Groups: []int{27}}
	for _, c := range []struct {
		mode     fs.FileMode
		uid, gid int
		who      forkbox.Owner
		want     bool
	}{
		{0o600, 1000, 0, who, true},
		{0o077, 1000, 1000, who, false},
		{0o600, 0, 0, who, false},
		{0o640, 0, 27, who, true},
		{0o604, 0, 27, who, false},
		{0o644, 0, 0, who, true},
		{fs.ModeDir | 0o700, 0, 0, who, true},
		{0o600, 1000, 1000, forkbox.Owner{}, true},
	} {
		if got := mayRead(forkbox.Node{Mode: c.mode, UID: c.uid, GID: c.gid}, c.who); got != c.want {
			t.Errorf("%v of %d:%d for %d: %v", c.mode, c.uid, c.gid, c.who.UID, got)
		}
	}
}
