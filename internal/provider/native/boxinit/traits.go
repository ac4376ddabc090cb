//go:build linux

package boxinit

import (
	"math/bits"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// inherit gives a command what its caller would have passed on, as far as that
// differs from what init passes on itself. What takes rights that no process in a
// box has, as a niceness below init's own, stays as it is.
func inherit(b *linux.Script, t *forkbox.Traits) {
	if t == nil {
		return
	}
	for resource, want := range t.Limits {
		inheritLimit(b, resource, unix.Rlimit{Cur: want[0], Max: want[1]})
	}
	if t.Nice != linux.Nice() {
		b.Try(func() { b.Nice(t.Nice) })
	}
	if len(t.CPUs) > 0 && len(t.CPUs) <= maxCPUWords && !slices.Equal(t.CPUs, linux.CPUs()) {
		b.Try(func() { b.RunOn(t.CPUs) })
	}
	if t.IO != 0 {
		b.Try(func() { b.IOPriority(t.IO) })
	}
	if t.Scheduler != 0 {
		b.Try(func() { b.Scheduler(t.Scheduler, t.Priority) })
	}
	for set := t.Ignored; set != 0; set &= set - 1 {
		signal := bits.TrailingZeros64(set) + 1
		b.Try(func() { b.Ignore(signal) })
	}
}

const maxCPUWords = 128 // the kernel's own limit

// inheritLimit sets a limit no higher than init's own: no process in a box may raise it.
// Open files are limited elsewhere, and the limit on real-time processes is the
// stamp of the exec.
func inheritLimit(b *linux.Script, resource int, want unix.Rlimit) {
	if resource == unix.RLIMIT_NOFILE || resource == linux.StampLimit {
		return
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(resource, &own); err != nil {
		return
	}
	want.Max = min(want.Max, own.Max)
	want.Cur = min(want.Cur, want.Max)
	if want != own {
		b.Try(func() { b.Limit(resource, want) })
	}
}
