//go:build !linux

package main

import "os"

// detachableLines leaves the terminal as it is: no command runs on this system.
func detachableLines(*os.File) (restore func()) { return func() {} }
