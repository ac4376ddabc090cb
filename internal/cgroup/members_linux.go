package cgroup

import (
	"bytes"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// members lists the processes in a group and all below it, never this one.
func (h *Host) members(n node) (list []int, err error) {
	if !n.some() {
		return nil, nil
	}
	err = walk(n.main(), func(dir string) error {
		in, err := h.kernel.pids(dir)
		list = append(list, in...)
		if isGone(err) {
			return nil
		}
		return err
	})
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(pid int) bool { return pid == os.Getpid() }), err
}

// clear removes a group without processes. Of one that has some nothing is
// removed, also not what is empty below it.
func (h *Host) clear(n node) error {
	if below, err := children(n.main()); err == nil && len(below) == 0 {
		// The kernel knows whether any process is in it, and does both in one
		// step.
		if err := rmdir(n.main()); err != nil {
			return err
		}
		return n.unmake()
	}
	in, err := h.members(n)
	if len(in) > 0 {
		return unix.EBUSY
	}
	return errors.Join(err, n.unmake())
}

// alive leaves out who has ended but was not noticed yet by its parent.
func alive(list []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(pid int) bool {
		s := state(pid)
		return s == 'X' || s == 0 || s == 'Z' && !hasThreads(pid)
	})
}

// hasThreads tells a process that has ended from one of which only the first
// thread has.
func hasThreads(pid int) bool {
	threads, _ := os.ReadDir("/proc/" + itoa(pid) + "/task")
	return len(threads) > 1
}

// state is the letter that ps shows, 0 for a process that is gone.
func state(pid int) byte {
	raw, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	at := bytes.LastIndexByte(raw, ')') // the name before it may hold anything
	if err != nil || at < 0 || at+2 >= len(raw) {
		return 0
	}
	return raw[at+2]
}

// batch is how many processes are held at a time: each takes a descriptor.
const batch = 100

// signalAll sends a signal to all that list names. A process may end, and its
// number be another's, between listing and sending. So each is held first, and
// then has to be listed still.
func signalAll(list func() ([]int, error), sig unix.Signal) error {
	all, err := list()
	errs := []error{err}
	for some := range slices.Chunk(all, batch) {
		held := hold(some)
		still, err := list()
		errs = append(errs, err)
		for pid, fd := range held {
			if _, in := slices.BinarySearch(still, pid); in {
				if err := unix.PidfdSendSignal(fd, sig, nil, 0); !errors.Is(err, unix.ESRCH) {
					errs = append(errs, err)
				}
			}
			unix.Close(fd)
		}
	}
	return errors.Join(errs...)
}

func hold(list []int) map[int]int {
	held := map[int]int{}
	for _, pid := range list {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			held[pid] = fd
		}
	}
	return held
}
