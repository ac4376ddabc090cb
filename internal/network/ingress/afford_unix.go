//go:build unix

package ingress

import "syscall"

// filesPerConn is what a relayed connection costs: its two ends, and in each
// direction a pipe that the kernel moves the bytes through.
const filesPerConn = 6

// affordable is how many connections leave the rest of the daemon enough files.
func affordable() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return 128
	}
	return int(min(4096, max(16, files.Cur/2/filesPerConn)))
}
