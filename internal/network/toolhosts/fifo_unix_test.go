//go:build unix

package toolhosts

import (
	"syscall"
	"testing"
)

func fifo(t *testing.T, path string) {
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
