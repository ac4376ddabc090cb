//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// hogArg makes the test binary one of the programs of [hogs]: what a limit is
// for, and what has to go on beside it. It is an argument and not a variable,
// so that the process can be found by it after it has cleared its environment.
const hogArg = "hog"

// hogLife is when a hog gives up by itself: should a limit not hold, or a test
// be killed, the machine gets well again.
const hogLife = 2 * time.Minute

var hogs = map[string]func(args []string) error{
	"again":         hogAgain,
	"cpu":           hogCPU,
	"disk-big":      hogDiskBig,
	"disk-deleted":  hogDiskDeleted,
	"disk-fall":     hogDiskFallocate,
	"disk-many":     hogDiskMany,
	"disk-slow":     hogDiskSlow,
	"disk-sparse":   hogDiskSparse,
	"fork-bomb":     hogForkBomb,
	"fd-leak":       hogFDLeak,
	"ignore-term":   hogIgnoreTerm,
	"memory":        hogMemory,
	"memory-cache":  hogMemoryCache,
	"memory-steps":  hogMemorySteps,
	"memory-tmpfs":  hogMemoryTmpfs,
	"output":        hogOutput,
	"probe":         hogProbe,
	"tick":          hogTick,
	"worker":        hogWorker,
	"wait-for-ever": hogWait,
}

func init() {
	if len(os.Args) < 3 || os.Args[1] != hogArg {
		return
	}
	debug.SetTraceback("none") // a Go program that gets no thread has much to say
	time.AfterFunc(hogLife, func() { os.Exit(99) })
	hog, ok := hogs[os.Args[2]]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no hog %q\n", os.Args[2])
		os.Exit(98)
	}
	if err := hog(os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, nameOfError(err))
		os.Exit(1)
	}
	os.Exit(0)
}

// nameOfError tells ENOSPC and EDQUOT apart, which read alike.
func nameOfError(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno) + ": " + err.Error()
	}
	return err.Error()
}

// hogArgv is the command line of a hog.
func hogArgv(program string, args ...string) []string {
	return append([]string{program, hogArg}, args...)
}

// startHog starts another hog from within one, which cannot be heard: a process
// that listens to the first need not wait for it.
func startHog(attr *syscall.SysProcAttr, env []string, args ...string) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: hogArgv(os.Args[0], args...), Env: env, SysProcAttr: attr}
	return cmd, cmd.Start()
}

// sizeArg reads "64m".
func sizeArg(args []string, n int) int64 {
	if n >= len(args) {
		return 0
	}
	v, err := forkbox.ParseLimit(forkbox.Disk, args[n])
	if err != nil {
		panic(err)
	}
	return v
}

func countArg(args []string, n, otherwise int) int {
	if n >= len(args) {
		return otherwise
	}
	v, err := strconv.Atoi(args[n])
	if err != nil {
		panic(err)
	}
	return v
}

// hogAgain runs another hog whenever the one before has ended.
func hogAgain(args []string) error {
	for {
		cmd, err := startHog(nil, os.Environ(), args...)
		if err != nil {
			time.Sleep(time.Millisecond) // the bomb before it is still dying
			continue
		}
		_ = cmd.Wait() // that it is killed is what it is for
	}
}

func hogWait([]string) error {
	fmt.Println("here")
	select {}
}
