package pool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TestStoreInPool: a store in a pool keeps boxes in subvolumes and holds them
// to their limits, and a box that is removed gives its space back.
func TestStoreInPool(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		p := open(t, home)
		s, err := layers.OpenIn(p.Dir(), home, "")
		must(t, err)
		disk, inodes := s.Quota()
		if name, _ := s.Driver(); name != "btrfs" || disk.How != forkbox.Enforced || inodes.How != forkbox.Watched {
			t.Fatalf("%s, %+v, %+v", name, disk, inodes)
		}
		wantHostFree(t, s, p)
		must(t, s.Create(t.Context(), "b"))
		const limit = 128 << 20
		must(t, s.SetQuota(t.Context(), "b", limit, -1))
		upper, _, err := s.NewUpper("b", "/")
		must(t, err)
		err = os.WriteFile(filepath.Join(upper, "f"), make([]byte, 2*limit), 0o600)
		if !errors.Is(err, unix.EDQUOT) && !errors.Is(err, unix.ENOSPC) {
			t.Errorf("twice its limit: %v", err)
		}
		unix.Sync()
		full, err := p.Status()
		must(t, err)
		if full.Used < limit/2 || full.Used > 2*limit {
			t.Errorf("the box takes %d", full.Used)
		}
		must(t, s.Remove(t.Context(), "b"))
		eventually(t, "the pool is empty", func() bool {
			unix.Sync()
			st, err := p.Status()
			must(t, err)
			return st.Used < limit/4
		})
		must(t, s.EmptyTrash(t.Context()))
		must(t, p.Close(t.Context()))
	})
}

// wantHostFree: it is the host's disk that counts, not the pool.
func wantHostFree(t *testing.T, s *layers.Store, p *Pool) {
	t.Helper()
	_, _, total, err := s.HostFree()
	must(t, err)
	var st unix.Statfs_t
	must(t, unix.Statfs(p.home, &st))
	if want := int64(st.Blocks) * int64(st.Frsize); total != want {
		t.Errorf("the host's disk has %d bytes, want %d", total, want)
	}
}
