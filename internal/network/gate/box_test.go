//go:build linux

package gate

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// testBox is the other end of a gate's device.
type testBox interface {
	// dial connects as a program in the box does.
	dial(network, address string) (net.Conn, error)
	// inject sends a raw IP packet.
	inject(packet []byte) error
}

// newBox makes a box with a kernel of its own where that is possible, and else
// one with a second stack.
func newBox(t testing.TB) (testBox, *os.File) {
	t.Helper()
	box, device, err := newKernelBox(t)
	if err == nil {
		return box, device
	}
	t.Logf("no network namespace with a TUN device is to be had here (%v): a second stack is the box", err)
	return newStackBox(t)
}

// bothBoxes runs a test with each kind of box.
func bothBoxes(t *testing.T, test func(t *testing.T, make func(t testing.TB) (testBox, *os.File))) {
	t.Run("kernel", func(t *testing.T) {
		if _, device, err := newKernelBox(t); err != nil {
			t.Skipf("no network namespace with a TUN device is to be had here: %v", err)
		} else {
			device.Close()
		}
		test(t, newBox)
	})
	t.Run("stack", func(t *testing.T) { test(t, newStackBox) })
}

// wantRefused fails unless an error is what a host says where nobody listens.
func wantRefused(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want connection refused", err)
	}
}
