//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func runInit() int {
	fmt.Fprintf(os.Stderr, "error: cannot be the init of a box: there are none on %s\n", runtime.GOOS)
	return 125
}

func runHolder() int {
	fmt.Fprintf(os.Stderr, "error: cannot stop services for a moment: none are found on %s\n", runtime.GOOS)
	return 125
}

func runContainer([]string) int {
	fmt.Fprintf(os.Stderr, "error: cannot run the copy of a container: there are no boxes on %s\n", runtime.GOOS)
	return 125
}
