package pool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/quota"
)

func TestPool(t *testing.T) {
	inOwnMounts(t, 0, func(home string) {
		if p, err := Open(t.Context(), home); p != nil || err != nil {
			t.Fatalf("without a home: %v, %v", p, err)
		}
		must(t, Init(t.Context(), home, 1<<30))
		wantNoLoop(t, home)
		if err := Init(t.Context(), home, 1<<30); forkbox.CodeOf(err) != forkbox.Exists {
			t.Errorf("Init again: %v", err)
		}
		p := open(t, home)
		again := open(t, home) // as a daemon does that finds it mounted
		if loops := loopsOf(t, home); len(loops) != 1 {
			t.Errorf("it has the loop devices %q", loops)
		}
		checkStatus(t, p)
		if _, err := quota.Find(again.Dir()); err != nil {
			t.Errorf("no quotas in it: %v", err)
		}
		if info, err := os.Stat(p.Dir()); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		checkLocked(t, p)
		must(t, unix.Mount("", p.Dir(), "", unix.MS_REMOUNT|unix.MS_BIND, ""))
		checkLocked(t, open(t, home)) // also where an older daemon mounted it
		must(t, os.WriteFile(filepath.Join(p.Dir(), "kept"), []byte("text"), 0o600))
		must(t, p.Close(t.Context()))
		must(t, again.Close(t.Context())) // it is closed
		wantNoLoop(t, home)
		p = open(t, home)
		if text, err := os.ReadFile(filepath.Join(p.Dir(), "kept")); string(text) != "text" {
			t.Errorf("what was written is %q, %v", text, err)
		}
		must(t, Remove(t.Context(), home))
		must(t, Remove(t.Context(), home))
		if names, err := os.ReadDir(home); err != nil || len(names) > 0 {
			t.Errorf("left: %v, %v", names, err)
		}
	})
}

// checkLocked: a setuid program of a box's is of no use to a user who gets to
// it.
func checkLocked(t *testing.T, p *Pool) {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(p.Dir(), &st))
	if locked := int64(unix.ST_NOSUID | unix.ST_NODEV); st.Flags&locked != locked {
		t.Errorf("it is mounted with the flags %x", st.Flags)
	}
}

func checkStatus(t *testing.T, p *Pool) {
	t.Helper()
	st, err := p.Status()
	must(t, err)
	if st.Size != 1<<30 || st.Used <= 0 || st.Free <= st.Size/2 || st.Free > st.Size || st.HostFree <= 0 {
		t.Errorf("%+v", st)
	}
	if st.Allocated <= 0 || st.Allocated > 64<<20 {
		t.Errorf("empty it takes %d bytes", st.Allocated)
	}
}

func TestRefused(t *testing.T) {
	inOwnMounts(t, 0, func(home string) {
		for _, shelf := range []string{"boxes", "layers", "roots"} {
			dir := filepath.Join(home, shelf, "one")
			must(t, os.MkdirAll(dir, 0o700))
			err := Init(t.Context(), home, 1<<30)
			var e *forkbox.Error
			if !errors.As(err, &e) || e.Code != forkbox.Busy || len(e.Hints) == 0 || exists(File(home)) {
				t.Errorf("Init with %s: %v", shelf, err)
			}
			must(t, os.Remove(dir))
		}
		if err := Init(t.Context(), home, 1<<20); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("Init of 1 MiB: %v", err)
		}
		must(t, Init(t.Context(), home, 1<<30))
		p := open(t, home)
		must(t, os.MkdirAll(filepath.Join(p.Dir(), "boxes", "one"), 0o700))
		if err := Remove(t.Context(), home); forkbox.CodeOf(err) != forkbox.Busy || !exists(File(home)) {
			t.Errorf("Remove with a box: %v", err)
		}
		must(t, p.Close(t.Context()))
		must(t, os.MkdirAll(filepath.Join(home, "boxes", "stray"), 0o700))
		if _, err := Open(t.Context(), home); forkbox.CodeOf(err) != forkbox.Busy || !strings.Contains(err.Error(), "stray") {
			t.Errorf("Open with boxes beside the pool: %v", err)
		}
	})
}

func TestMissingMkfs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("Init is for root")
	}
	t.Setenv("PATH", t.TempDir())
	home := filepath.Join(t.TempDir(), "home")
	var e *forkbox.Error
	if err := Init(t.Context(), home, 1<<30); !errors.As(err, &e) || e.Code != forkbox.Unsupported || len(e.Hints) == 0 {
		t.Errorf("%v", err)
	}
	if exists(home) {
		t.Error("it left a home")
	}
}

func TestNotRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for everybody but root")
	}
	home := t.TempDir()
	if err := Init(t.Context(), home, 1<<30); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("Init: %v", err)
	}
	if p, err := Open(t.Context(), home); p != nil || err != nil {
		t.Errorf("Open without a pool: %v, %v", p, err)
	}
	must(t, os.WriteFile(File(home), nil, 0o600))
	if _, err := Open(t.Context(), home); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("Open: %v", err)
	}
}

// TestNoPool: a file that is none is said to be none, and left alone.
func TestNoPool(t *testing.T) {
	inOwnMounts(t, 0, func(home string) {
		must(t, os.MkdirAll(home, 0o700))
		must(t, os.WriteFile(File(home), make([]byte, 1<<20), 0o600))
		if _, err := Open(t.Context(), home); err == nil {
			t.Error("it was opened")
		}
		if info, err := os.Stat(File(home)); err != nil || info.Size() != 1<<20 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// TestInUse: what is open is not taken from a box. A mount that is not ours
// does not keep ours, and is found by the next Open: two loop devices of one file
// would destroy it.
func TestInUse(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		p := open(t, home)
		f, err := os.Create(filepath.Join(p.Dir(), "f"))
		must(t, err)
		if err := p.Close(t.Context()); forkbox.CodeOf(err) != forkbox.Busy {
			t.Errorf("with an open file: %v", err)
		}
		must(t, f.Close())
		tree, err := unix.OpenTree(unix.AT_FDCWD, p.Dir(), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		must(t, err)
		before := loopsOf(t, home)
		must(t, p.Close(t.Context()))
		if source, err := mounted(p.Dir()); source != "" || err != nil {
			t.Errorf("%s is still mounted, %v", source, err)
		}
		theirs, err := unix.Openat(tree, "theirs", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		must(t, err)
		must(t, unix.Close(theirs))
		p = open(t, home)
		if after := loopsOf(t, home); len(after) != 1 || !slices.Equal(before, after) {
			t.Errorf("loop devices: %q, then %q", before, after)
		}
		if !exists(filepath.Join(p.Dir(), "theirs")) {
			t.Error("it is another filesystem")
		}
		must(t, unix.Close(tree))
		must(t, p.Close(t.Context()))
	})
}

// TestSpaceComesBack: what is deleted in the pool is free on the host.
func TestSpaceComesBack(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		p := open(t, home)
		file := filepath.Join(p.Dir(), "big")
		const size = 256 << 20
		must(t, os.WriteFile(file, make([]byte, size), 0o600))
		unix.Sync()
		full, err := p.Status()
		must(t, err)
		if full.Allocated < size || full.Used < size {
			t.Fatalf("%+v", full)
		}
		must(t, os.Remove(file))
		eventually(t, "the file is smaller", func() bool {
			unix.Sync()
			st, err := p.Status()
			must(t, err)
			return st.Allocated < full.Allocated-size/2
		})
		must(t, p.Close(t.Context()))
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("in two minutes it did not come to be that %s", what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
