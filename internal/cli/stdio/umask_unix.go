//go:build unix

package stdio

import "syscall"

// CallerUmask is ours, which we have from the caller. It can only be read by
// setting it.
func CallerUmask() *int {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return &mask
}
