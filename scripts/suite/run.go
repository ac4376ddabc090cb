//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runJob runs the tests of a package and reports what came of them.
func (s *suite) runJob(ctx context.Context, j job) {
	if ctx.Err() != nil {
		return
	}
	began := time.Now()
	var took cost
	var err error
	if j.machine != "" {
		took, err = s.testInMachine(ctx, j.machine)
	} else {
		took, err = s.test(ctx, j)
	}
	took.wall = time.Since(began)
	s.report.finish(j, took, err)
}

// cost is what a job took: time, and time of processors. Of what the tests started
// and did not wait for, such as daemons that start on demand, it has nothing.
type cost struct{ wall, processor time.Duration }

func costOf(cmd *exec.Cmd) (c cost) {
	if cmd.ProcessState != nil {
		c.processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return c
}

// testInMachine runs the program that boots a machine, and counts its tests. What it
// says is printed when it has ended.
func (s *suite) testInMachine(ctx context.Context, program string) (cost, error) {
	events := s.path("machine.json")
	cmd := exec.CommandContext(ctx, program, "-json", events)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	said, err := cmd.CombinedOutput()
	s.report.print(string(said))
	return costOf(cmd), errors.Join(err, s.report.read(events))
}

// test has the report listen to the tests of a package. The error is of what is no
// test's failure; those are in the report.
func (s *suite) test(ctx context.Context, j job) (cost, error) {
	cmd := exec.CommandContext(ctx, j.pkg.binary, s.testFlags()...)
	cmd.Dir = j.pkg.dir
	if j.other {
		as, done, err := s.asOther(ctx, j.pkg)
		if err != nil {
			return cost{}, err
		}
		defer done()
		cmd = as
	}
	// The tests are a process group of their own: an interrupt is for all of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second

	events := exec.Command(s.path("test2json"), "-t", "-p", j.pkg.path)
	events.Stderr = os.Stderr
	said, say, err := os.Pipe()
	if err != nil {
		return cost{}, err
	}
	cmd.Stdout, cmd.Stderr, events.Stdin = say, say, said
	told, err := events.StdoutPipe()
	if err != nil {
		return cost{}, err
	}
	if err := events.Start(); err != nil {
		return cost{}, err
	}
	said.Close()
	heard := make(chan error, 1)
	go func() { heard <- s.report.listen(j, told) }()
	ended := cmd.Run()
	say.Close()
	select {
	case err = <-heard:
	case <-time.After(time.Minute):
		events.Process.Kill()
		err = errors.Join(<-heard, errors.New("something that the tests started still holds their output"))
	}
	events.Wait()
	var exit *exec.ExitError
	if errors.As(ended, &exit) && exit.ExitCode() == 1 {
		ended = nil // a test failed
	}
	return costOf(cmd), errors.Join(ended, err)
}

// testFlags has more tests of a package run at the same time than there are
// processors: most of them wait for other processes, and for disks, more than they work.
func (s *suite) testFlags() []string {
	return []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + s.timeout.String(), "-test.run=" + s.tests,
		"-test.parallel=" + strconv.Itoa(2*runtime.NumCPU())}
}

// leavesNothing says whether no process, mount, cgroup, device or namespace is
// left of the tests.
func (s *suite) leavesNothing() bool {
	cmd := exec.Command("scripts/leftovers")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run() == nil
}

// output runs a command; what it says is part of the error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
