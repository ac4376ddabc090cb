package files

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Actor runs functions with the rights of one user. The kernel keeps the
// identity that counts for files per thread, so the actor has a thread of its
// own, which ends with it: a thread that was another user is never used for
// anything again.
type Actor struct {
	jobs chan func() // nil: the caller has the right identity
}

// ActAs starts an actor for owner.
func ActAs(owner *forkbox.Owner) (*Actor, error) {
	if owner == nil || owner.UID == os.Geteuid() {
		return &Actor{}, nil
	}
	if os.Geteuid() != 0 {
		return nil, forkbox.Errorf(forkbox.Denied, opLand, "only root can act for user %d", owner.UID)
	}
	a := &Actor{jobs: make(chan func())}
	ready := make(chan error)
	go a.run(*owner, ready)
	if err := <-ready; err != nil {
		return nil, forkbox.Errorf(forkbox.Internal, opLand, "become user %d: %w", owner.UID, err)
	}
	return a, nil
}

func (a *Actor) run(owner forkbox.Owner, ready chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	err := become(owner)
	ready <- err
	if err != nil {
		return
	}
	for job := range a.jobs {
		job()
	}
}

// Do runs f as the user, and waits. A panic in it comes out here.
func (a *Actor) Do(f func() error) (err error) {
	if a.jobs == nil {
		return f()
	}
	var panicked any
	done := make(chan struct{})
	a.jobs <- func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = f()
	}
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// Beside runs f with the rights of the process, from within do.
func (a *Actor) Beside(f func()) {
	if a.jobs == nil {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // on another thread: this one is locked
		defer close(done)
		f()
	}()
	<-done
}

// Change has the actor act for another owner.
func (a *Actor) Change(owner *forkbox.Owner) error {
	a.Stop()
	next, err := ActAs(owner)
	if err == nil {
		a.jobs = next.jobs
	}
	return err
}

// Stop ends it.
func (a *Actor) Stop() {
	if a.jobs != nil {
		close(a.jobs)
		a.jobs = nil
	}
}

// become changes the identity of this thread alone: Go's own calls change all
// threads. Only the identity for files is changed, the real one stays, so that
// the user can neither signal nor trace the process.
func become(owner forkbox.Owner) error {
	groups := make([]uint32, 0, len(owner.Groups)+1)
	for _, g := range owner.Groups {
		groups = append(groups, uint32(g))
	}
	groups = append(groups, uint32(owner.GID))
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
		return e
	}
	// These two calls return the old identity and no error; asking again
	// (-1 is never valid) tells whether they worked.
	unix.RawSyscall(unix.SYS_SETFSGID, uintptr(owner.GID), 0, 0)
	unix.RawSyscall(unix.SYS_SETFSUID, uintptr(owner.UID), 0, 0)
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if int(uid) != owner.UID || int(gid) != owner.GID {
		return unix.EPERM
	}
	return dropCapabilities()
}

// dropCapabilities: setfsuid drops those over files, but not the ones to set
// file capabilities and trusted attributes, or to exceed a quota.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
