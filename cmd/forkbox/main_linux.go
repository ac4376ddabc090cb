package main

import (
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/services/containers/contained"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// runInit is the init of a box.
func runInit() int { return boxinit.Init() }

// runHolder stops services, and lets them go on.
func runHolder() int { return copying.RunHolder() }

// runContainer runs the copy of a container in a box.
func runContainer(args []string) int { return contained.Run(args) }
