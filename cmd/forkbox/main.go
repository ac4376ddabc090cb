// The runtime would read cgroup files at every start to choose a number of
// threads; a command line that lives for milliseconds has no use for it.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command forkbox forks your machine: the CLI, the daemon and the init of a box
// in one binary.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox/internal/cli"
)

// release is set by the build: -ldflags "-X main.release=v1.2.3".
var release string

func main() { os.Exit(run(os.Args...)) }

// run is main with the exit code returned, so that a test can be the binary.
func run(args ...string) int {
	// The first process of a box is this binary under another name, and so is
	// what stops a service for a moment. They must not pay for a command line
	// they do not have.
	if len(args) > 0 {
		switch filepath.Base(args[0]) {
		case initName:
			return runInit()
		case holderName:
			return runHolder()
		}
	}
	if len(args) > 1 && args[1] == containerName {
		return runContainer(args[2:])
	}
	return cli.Run(context.Background(), release, args)
}

// initName is what the provider calls this binary when it is to be the init of
// a box.
const initName = "forkbox-init" // boxinit.InitName

// holderName is what the daemon calls it when it is to stop services for a moment.
const holderName = "forkbox-freeze" // copying.HolderName

// containerName is the word by which a box has it run the copy of a container.
const containerName = "forkbox-container" // contained.Name
