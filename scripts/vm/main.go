// Command vm boots a machine with a stock Debian kernel and version 2 of
// control groups, and runs there what this machine's kernel may not have:
// see suite.go for the list. It is emulated, so that it works everywhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	failed, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

func run() (failed bool, err error) {
	only := flag.String("only", "", "do only the jobs whose name this `regexp` finds")
	tests := flag.String("run", "", "instead of the tests that a job names, those that this `regexp` finds")
	events := flag.String("json", "", "also write what the tests did to this `file`, as test2json does")
	limit := flag.Duration("timeout", 20*time.Minute, "for everything")
	flag.Parse()
	jobs, err := choose(*only, *tests)
	if err != nil {
		return false, err
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return false, fmt.Errorf("cannot make the machine on %s/%s: its programs are copied from a Linux on amd64", runtime.GOOS, runtime.GOARCH)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop() // what was made is removed also when we are interrupted
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	work, err := os.MkdirTemp("", "fbtest-vm-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	return test(ctx, work, *events, jobs)
}

// test makes a machine in work, has it do the jobs and says what came of them.
func test(ctx context.Context, work, events string, jobs []job) (failed bool, err error) {
	began := time.Now()
	m, err := build(ctx, work, jobs)
	if err != nil {
		return false, err
	}
	fmt.Printf("built in %.1f s\n", time.Since(began).Seconds())
	results := newResults(ctx, jobs)
	err = m.boot(ctx, results)
	failed = results.print()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, m.console())
	}
	if events != "" {
		err = errors.Join(err, results.write(events))
	}
	fmt.Printf("%.1f s in all\n", time.Since(began).Seconds())
	return failed, err
}

// choose takes the jobs that the flags ask for.
func choose(only, tests string) (chosen []job, err error) {
	name, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, j := range suite {
		if !name.MatchString(j.name) {
			continue
		}
		if tests != "" {
			j.tests = tests
		}
		chosen = append(chosen, j)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no job has a name like %q", only)
	}
	return chosen, nil
}

// output runs a command of this machine; what it says is part of the error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}
