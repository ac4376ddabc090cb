package main

import "github.com/forkbox/forkbox/internal/provider/native"

// runInit is the init of a box.
func runInit() int { return native.Init() }
