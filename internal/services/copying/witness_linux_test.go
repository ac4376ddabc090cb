package copying

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
)

// busy is what a machine with much else to do may add to any time.
const busy = 30 * time.Second

// witness sees for how long a writer writes nothing, from outside.
func witness(t *testing.T, dir string) (longest func() time.Duration) {
	t.Helper()
	stop, result := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var size int64
		var gap time.Duration
		for last := time.Now(); ; time.Sleep(time.Millisecond) {
			select {
			case <-stop:
				result <- max(gap, time.Since(last))
				return
			default:
			}
			if info, err := os.Stat(filepath.Join(dir, "1-log")); err == nil && info.Size() != size {
				size, gap, last = info.Size(), max(gap, time.Since(last)), time.Now()
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-result
	}
}

// wantWritten waits until a writer has written once more.
func wantWritten(t *testing.T, dir string) {
	t.Helper()
	was, err := os.Stat(filepath.Join(dir, "1-log"))
	must(t, err)
	wait(t, "it goes on to write", func() bool {
		now, err := os.Stat(filepath.Join(dir, "1-log"))
		return err == nil && now.Size() > was.Size()
	})
}

// Whatever keeps a copy from being made, a writer waits no longer than it may.
func TestNobodyWaitsLongerThanSaid(t *testing.T) {
	onFilesystem(t, "xfs", func(t *testing.T, mnt string) {
		dir := t.TempDir()
		pid := startWriter(t, dir)
		source := []Source{{Name: "writer", PID: pid, Paths: []string{dir}}}
		const said = 2 * time.Second
		hang := func(int64, int64) {
			for began := time.Now(); freezer.State(pid) == 'T' && time.Since(began) < 4*busy; {
				time.Sleep(time.Millisecond)
			}
		}
		once := false
		fill := func(int64, int64) {
			if freezer.State(pid) == 'T' && !once {
				once = true
				fillDisk(t, mnt)
			}
		}
		for _, c := range []struct {
			name     string
			full     bool
			progress func(int64, int64)
		}{{"the copy hangs", false, hang}, {"the disk is full when it is stopped", false, fill}, {"the disk is full", true, nil}} {
			must(t, os.RemoveAll(filepath.Join(mnt, "filler")))
			to := filepath.Join(mnt, strings.ReplaceAll(c.name, " ", "-"))
			must(t, os.Mkdir(to, 0o700))
			if c.full {
				fillDisk(t, mnt)
			}
			gap := witness(t, dir)
			_, err := Take(t.Context(), source, Options{Put: into(to), MaxPause: said, Way: Delta, Progress: c.progress})
			wantWritten(t, dir)
			if longest := gap(); longest > said+busy {
				t.Errorf("%s: it wrote nothing for %s", c.name, longest)
			}
			switch {
			case c.full && (err == nil || !strings.Contains(hints(err), "free some space")):
				t.Errorf("%s: %v", c.name, err)
			case c.progress != nil && !once && forkbox.CodeOf(err) != forkbox.TimedOut && forkbox.CodeOf(err) != forkbox.Busy:
				t.Errorf("%s: %v", c.name, err)
			}
			if err == nil { // what was written last found room in blocks that there were
				checkWriter(t, filepath.Join(to, filepath.Base(dir)))
			} else {
				wantEmpty(t, to)
			}
		}
	})
}

// fillDisk leaves no room on a filesystem but for a directory.
func fillDisk(t *testing.T, mnt string) {
	t.Helper()
	f, err := os.Create(filepath.Join(mnt, "filler"))
	must(t, err)
	defer f.Close()
	var end int64
	for size := int64(256 << 20); size >= 4096; {
		err := unix.Fallocate(int(f.Fd()), 0, end, size)
		switch {
		case err == nil:
			end += size
		case errors.Is(err, unix.ENOSPC):
			size /= 2
		case !errors.Is(err, unix.EINTR):
			t.Fatal(err)
		}
	}
}
