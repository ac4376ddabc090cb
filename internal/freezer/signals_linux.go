package freezer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Stopped are processes that were stopped, each with when it started, which tells
// it from another that has its pid by now.
type Stopped map[int]Started

// Family stops processes of the host with all that came from them, and returns
// when none of them runs. What was stopped before, for reasons of its own, is not
// among what it returns, and so stays as it was. The caller is never stopped.
// After an error all go on.
func Family(ctx context.Context, roots ...int) (Stopped, error) {
	return stopAll(ctx, func() []int { return FamilyOf(roots...) }, func(Stopped) error { return nil })
}

// FamilyOf lists processes with all that came from them, but for the caller.
func FamilyOf(roots ...int) []int {
	all := slices.Clone(roots)
	for _, root := range roots {
		all = append(all, Descendants(root)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(pid int) bool { return pid == os.Getpid() })
}

// bySignals stops what is below a process, with a note of it.
func bySignals(ctx context.Context, init int, noteFile string) error {
	_, err := stopAll(ctx, func() []int { return Descendants(init) }, func(stopped Stopped) error {
		return save(noteFile, note{Stopped: stopped})
	})
	if err != nil {
		return errors.Join(err, forget(noteFile))
	}
	return nil
}

// stopAll stops processes one by one until a whole round finds none that runs.
// Who is to be stopped is told to keep before it is done: it must be let go on
// also by a daemon that knows nothing of this one.
func stopAll(ctx context.Context, list func() []int, keep func(Stopped) error) (Stopped, error) {
	stopped := Stopped{}
	was := map[int]bool{} // stopped before us
	for _, pid := range list() {
		if State(pid) == 'T' {
			was[pid] = true
		}
	}
	err := settle(ctx, func() (bool, error) {
		done, fresh := true, false
		for _, pid := range list() {
			s := State(pid)
			if was[pid] || s == 'Z' || s == 0 {
				continue
			}
			done = done && stands(s)
			if _, known := stopped[pid]; !known {
				stopped[pid], fresh = StartOf(pid), true
			}
		}
		if fresh {
			if err := keep(stopped); err != nil {
				return false, err
			}
		}
		return done && !fresh, stopped.signal(unix.SIGSTOP)
	}, func() error {
		err := stopped.Resume()
		time.Sleep(time.Millisecond)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, stopped.Resume())
	}
	return stopped, nil
}

// Resume lets them go on.
func (s Stopped) Resume() error { return s.signal(unix.SIGCONT) }

func (s Stopped) signal(sig unix.Signal) error {
	var errs []error
	for pid, start := range s {
		if StartOf(pid) != start {
			continue // it has ended, and this pid is another process's
		}
		if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
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

// stands says whether a process in this state does nothing.
func stands(state byte) bool { return state == 'T' || state == 't' }

// State is the letter that ps shows, 0 for a process that is gone. A process is
// stopped when all its threads are: one that is in the midst of writing to a
// disk goes on until that is done, and the first may have ended before the others.
func State(pid int) byte {
	dir := "/proc/" + strconv.Itoa(pid)
	first := stateIn(dir)
	if first != 0 && !stands(first) && first != 'Z' {
		return first
	}
	threads, _ := os.ReadDir(dir + "/task")
	for _, thread := range threads {
		switch s := stateIn(dir + "/task/" + thread.Name()); {
		case s == 0, s == 'Z', s == 'X':
		case first == 'Z', !stands(s):
			first = s
		}
	}
	return first
}

func stateIn(dir string) byte {
	if fields := statFields(dir); len(fields) > 0 {
		return fields[0][0]
	}
	return 0
}

// Started tells processes with the same pid apart: ticks since boot.
type Started string

// StartOf is when a process started, "" if it is gone.
func StartOf(pid int) Started {
	if fields := statFields("/proc/" + strconv.Itoa(pid)); len(fields) > 19 {
		return Started(fields[19])
	}
	return ""
}

// statFields is a process's or thread's stat after the name, which may hold
// anything.
func statFields(dir string) []string {
	raw, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
}
