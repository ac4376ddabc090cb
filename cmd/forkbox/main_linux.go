package main

import (
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// runInit is the init of a box.
func runInit() int { return boxinit.Init() }

// runHolder stops services, and lets them go on.
func runHolder() int { return copying.RunHolder() }
