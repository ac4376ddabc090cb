//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// bombDepth bounds what a fork bomb comes to where no limit holds: two to this
// power.
const bombDepth = 9

// hogForkBomb doubles without end. With "stubborn" it goes on trying when it
// is refused; otherwise it fails, and so do those that it comes from, and those
// that come from it end with it.
func hogForkBomb(args []string) error {
	depth, stubborn := countArg(args, 1, bombDepth), args[0] == "stubborn"
	attr := &syscall.SysProcAttr{}
	if !stubborn {
		attr.Pdeathsig = syscall.SIGKILL
	}
	for n := 0; n < 2 && depth > 0; n++ {
		_, err := startHog(attr, os.Environ(), "fork-bomb", args[0], strconv.Itoa(depth-1))
		switch {
		case err != nil && stubborn:
			time.Sleep(time.Millisecond) // until another has died
			n--
		case err != nil:
			return err
		}
	}
	if depth > 0 && !stubborn {
		return firstFailure()
	}
	select {}
}

// firstFailure waits for what was started until one of it fails.
func firstFailure() error {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case status.ExitStatus() != 0:
			return fmt.Errorf("a process failed with %d: %w", status.ExitStatus(), syscall.EAGAIN)
		}
	}
}

// hogCPU spins on N threads.
func hogCPU(args []string) error {
	fmt.Println("spins")
	for range countArg(args, 0, 1) {
		go func() {
			for x := 1; ; x = x*3 + 1 {
				_ = x
			}
		}()
	}
	select {}
}

// hogOutput writes SIZE, in lines.
func hogOutput(args []string) error {
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	for left := sizeArg(args, 0); left > 0; left -= int64(len(line)) {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// hogFDLeak opens until it may not.
func hogFDLeak([]string) error {
	var kept []*os.File
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			fmt.Println("opened", len(kept))
			return err
		}
		kept = append(kept, f)
	}
}

// hogIgnoreTerm ignores what it can, and leaves a process behind that is in no
// session, group or family of its own and has no environment. MARK is to find
// them by.
func hogIgnoreTerm(args []string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1)
	generation := countArg(args, 1, 0)
	if generation < 2 {
		if _, err := startHog(&syscall.SysProcAttr{Setsid: true}, []string{}, "ignore-term", args[0], strconv.Itoa(generation+1)); err != nil {
			return err
		}
	}
	if generation == 1 {
		os.Exit(0) // its child is an orphan
	}
	fmt.Println("ignores", generation)
	select {}
}

// hogTick says something all the time.
func hogTick([]string) error {
	for {
		if _, err := fmt.Println("tick"); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // not to be a hog
	}
}
