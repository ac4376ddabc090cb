package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// grace is what git gets to remove its lock files when it is told to end.
const grace = 3 * time.Second

// rights has cmd run as the owner, in a session of its own: without our
// terminal, and as a process group that can be ended as a whole.
func (r Repo) rights(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	other, err := r.another()
	if err != nil || !other {
		return err
	}
	who := &syscall.Credential{Uid: uint32(r.Owner.UID), Gid: uint32(r.Owner.GID)}
	for _, g := range r.Owner.Groups {
		who.Groups = append(who.Groups, uint32(g))
	}
	cmd.SysProcAttr.Credential = who
	return nil
}

// another says whether the owner is another user than the daemon's. Only root
// can become another user.
func (r Repo) another() (bool, error) {
	switch me := os.Geteuid(); {
	case me == r.Owner.UID:
		return false, nil
	case me == 0:
		return true, nil
	default:
		return false, forkbox.Errorf(forkbox.Denied, "run git", "user %d cannot act for user %d", me, r.Owner.UID)
	}
}

// supervise runs cmd to its end. When ctx ends first, the whole group is asked
// to end, so that git removes its locks, and then killed.
func supervise(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		await(cmd.Process.Pid)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		end(cmd.Process.Pid, ended)
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // git itself ended well
	}
	return err
}

// await returns when the process has ended, and leaves it a zombie: as long as
// it is one, its number, and that of its group, are no other process's.
func await(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

func end(pid int, ended <-chan struct{}) {
	unix.Kill(-pid, unix.SIGTERM)
	select {
	case <-ended:
	case <-time.After(grace):
	}
	unix.Kill(-pid, unix.SIGKILL)
	<-ended
}

// As does something to files with the owner's rights. They belong to a thread:
// this one is given up afterwards, so that nothing else ever runs on it.
func (r Repo) As(do func() error) error {
	other, err := r.another()
	if err != nil {
		return err
	}
	if !other {
		return do()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := r.become()
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// become gives the calling thread the owner's rights to files. With a
// filesystem uid other than 0 the kernel takes root's capabilities over files
// as well. setfsuid does not tell whether it worked: it tells what was.
func (r Repo) become() error {
	if err := unix.Setgroups(r.Owner.Groups); err != nil {
		return err
	}
	unix.Setfsgid(r.Owner.GID)
	unix.Setfsuid(r.Owner.UID)
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uid != r.Owner.UID || gid != r.Owner.GID {
		return forkbox.Errorf(forkbox.Denied, "act for the owner", "the kernel refused the rights of user %d", r.Owner.UID)
	}
	return nil
}
