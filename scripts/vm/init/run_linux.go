package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/scripts/vm/plan"
)

// outputOf sends what a run writes.
type outputOf struct {
	r   *reporter
	run int
}

func (o outputOf) Write(p []byte) (int, error) {
	o.r.send(plan.Event{Kind: plan.Output, Run: o.run, Output: p})
	return len(p), nil
}

// perform runs one command in a group of its own and tells how it ended.
func perform(r *reporter, number int, run plan.Run) plan.Event {
	end := plan.Event{Kind: plan.End, Run: number, Status: -1}
	group, err := newGroup(run.Place, number)
	if err != nil {
		end.Why = err.Error()
		return end
	}
	ctx, cancel := context.WithTimeout(context.Background(), run.Timeout)
	defer cancel()
	cmd, err := command(ctx, run, group, outputOf{r, number})
	if err != nil {
		end.Why = err.Error()
		return end
	}
	err = cmd.Wait()
	end.Status = cmd.ProcessState.ExitCode()
	end.Why = why(ctx, run, err)
	end.Left = clearUp()
	return end
}

func why(ctx context.Context, run plan.Run, err error) string {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("it was killed because it took more than %v", run.Timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		return "it has ended, but somebody still holds its output open"
	case errors.As(err, &exit) && !exit.Exited():
		return exit.Error()
	case err != nil && exit == nil:
		return err.Error()
	}
	return ""
}

// command starts run in group.
func command(ctx context.Context, run plan.Run, group string, out outputOf) (*exec.Cmd, error) {
	dir, err := os.Open(group)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	cmd := exec.CommandContext(ctx, run.Command[0], run.Command[1:]...)
	cmd.Dir = run.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(environment(run.Place), run.Env...)
	// Setsid, because the console is no session's terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd()), Setsid: true}
	if run.Place == plan.Delegated {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: plan.UserID, Gid: plan.UserID}
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd, cmd.Start()
}

func environment(place plan.Place) []string {
	common := []string{"PATH=" + path, "LANG=C.UTF-8", "SHELL=/bin/bash"}
	if place == plan.Delegated {
		return append(common, "HOME="+home, "USER="+plan.User, "LOGNAME="+plan.User, "XDG_RUNTIME_DIR="+runtime)
	}
	return append(common, "HOME=/root", "USER=root", "LOGNAME=root")
}

// clearUp ends what a run left behind, which the next run must not meet, and
// says what that was. What was told to stop gets a moment to do so.
func clearUp() (left []string) {
	for try := range 1000 {
		pids, err := members()
		if err != nil {
			return append(left, err.Error())
		}
		if len(pids) == 0 {
			return left
		}
		if try == 100 {
			for _, pid := range pids {
				left = append(left, describe(pid))
			}
		}
		if try >= 100 {
			for _, pid := range pids {
				unix.Kill(pid, unix.SIGKILL) // it may have ended meanwhile
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return append(left, "and they cannot be killed")
}

func groupOf(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(content)), "0::")
}

func describe(pid int) string {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d in %s: %s", pid, groupOf(pid), strings.ReplaceAll(strings.TrimRight(string(cmdline), "\x00"), "\x00", " "))
}
