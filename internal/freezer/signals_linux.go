package freezer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bySignals stops processes one by one until a whole round finds none that
// runs.
func bySignals(ctx context.Context, init int, noteFile string) error {
	stopped := map[int]started{}
	was := map[int]bool{} // stopped before us, for reasons of their own
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
			continue // it has ended, and this pid is another process's
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Descendants lists all processes below one. In a box they are all there are: a
// process that loses its parent becomes a child of the first process.
func Descendants(pid int) (all []int) {
	for _, child := range children(pid) {
		all = append(all, child)
		all = append(all, Descendants(child)...)
	}
	return all
}

// children are those of all threads of a process.
func children(pid int) (list []int) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(raw)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// state is the letter that ps shows, 0 for a process that is gone.
func state(pid int) byte {
	if fields := statFields(pid); len(fields) > 0 {
		return fields[0][0]
	}
	return 0
}

// started tells processes with the same pid apart: ticks since boot.
type started string

func startOf(pid int) started {
	if fields := statFields(pid); len(fields) > 19 {
		return started(fields[19])
	}
	return ""
}

// statFields is /proc/PID/stat after the name, which may hold anything.
func statFields(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
}
