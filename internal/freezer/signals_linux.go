package freezer

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// bySignals stops processes one by one until a whole round finds none that
// runs.
func bySignals(ctx context.Context, init int, noteFile string) error {
	stopped := map[int]started{}
	was := map[int]bool{} // stopped before us, by somebody who has reasons
	for _, pid := range Descendants(init) {
		if state(pid) == 'T' {
			was[pid] = true
		}
	}
	err := settle(ctx, func() (bool, error) {
		done, fresh := true, false
		for _, pid := range Descendants(init) {
			switch s := state(pid); {
			case was[pid], s == 'Z', s == 0:
				continue
			case s != 'T' && s != 't':
				done = false
			}
			if _, known := stopped[pid]; !known {
				stopped[pid], fresh = startOf(pid), true
			}
		}
		if fresh {
			// Written down before it is done: who is stopped must be let go
			// on also by a daemon that knows nothing of this one.
			if err := save(noteFile, note{Stopped: stopped}); err != nil {
				return false, err
			}
		}
		for pid := range stopped {
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil && !errors.Is(err, unix.ESRCH) {
				return false, err
			}
		}
		return done && !fresh, nil
	}, func() error {
		err := resume(stopped)
		time.Sleep(time.Millisecond)
		return err
	})
	if err != nil {
		return errors.Join(err, resume(stopped), forget(noteFile))
	}
	return nil
}

func resume(stopped map[int]started) error {
	var errs []error
	for pid, start := range stopped {
		if startOf(pid) != start {
			continue // it has ended, and this is somebody else's pid
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
