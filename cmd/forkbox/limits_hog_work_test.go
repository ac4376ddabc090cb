//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// work is what an honest program does: it computes, takes memory, writes and
// reads a file.
func work(dir string, rounds int) error {
	block := noise()
	for range rounds {
		for range 4 {
			sum := sha256.Sum256(block)
			copy(block, sum[:])
		}
		name := filepath.Join(dir, "work")
		if err := os.WriteFile(name, block, 0o644); err != nil {
			return err
		}
		read, err := os.ReadFile(name)
		if err != nil || len(read) != len(block) {
			return fmt.Errorf("read %d of %d: %w", len(read), len(block), err)
		}
	}
	return os.Remove(filepath.Join(dir, "work"))
}

// hogWorker is the well-behaved neighbour: a fixed amount of work, and how long
// it took, in nanoseconds.
func hogWorker(args []string) error {
	start := time.Now()
	if err := work(".", countArg(args, 0, 20)); err != nil {
		return err
	}
	fmt.Println(int64(time.Since(start)))
	return nil
}

// probed is what the host's probe saw.
type probed struct {
	Rounds        int
	Median, Worst time.Duration
}

// hogProbe is the host's own: it works in a directory until its stdin ends, and
// tells how that went. That it is refused memory, disk or a process is an
// error: those the host keeps for itself.
func hogProbe(args []string) error {
	done := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(done)
	}()
	var took []time.Duration
	for {
		start := time.Now()
		if err := probeOnce(args[0]); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		select {
		case <-done:
			slices.Sort(took)
			return json.NewEncoder(os.Stdout).Encode(probed{len(took), took[len(took)/2], took[len(took)-1]})
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func probeOnce(dir string) error {
	mem, err := pagedIn(mib)
	if err == nil {
		err = unix.Munmap(mem)
	}
	if err != nil {
		return err
	}
	p, err := os.StartProcess("/proc/self/exe", hogArgv(os.Args[0], "output", "0"), &os.ProcAttr{})
	if err != nil {
		return err
	}
	if _, err := p.Wait(); err != nil {
		return err
	}
	return work(dir, 1)
}
