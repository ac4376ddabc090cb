//go:build unix

package main

import "syscall"

// callerUmask is ours, which we have from the caller. It can only be read by
// setting it.
func callerUmask() *int {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return &mask
}
