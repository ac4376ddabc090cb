package main

import "github.com/forkbox/forkbox/internal/provider/native/boxinit"

// runInit is the init of a box.
func runInit() int { return boxinit.Init() }
