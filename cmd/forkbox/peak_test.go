//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// peaksVar names a directory in which every forkbox that ends leaves the most
// memory that it had, by pid. The kernel's own count of an ended process
// (ru_maxrss) cannot be used: it begins with the memory of the process that
// started it, which is all of these tests.
const peaksVar = "FORKBOX_TEST_PEAKS"

// runForkbox is what the tests' forkbox does.
func runForkbox() int {
	code := run(os.Args...)
	if dir := os.Getenv(peaksVar); dir != "" {
		kib, err := peakOf("self")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), []byte(strconv.Itoa(kib)), 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}

// peakOf is the most memory that a process has had so far, in KiB.
func peakOf(pid string) (kib int, err error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib, nil
		}
	}
	return 0, fmt.Errorf("no VmHWM in %q", status)
}
