//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"
)

// holdVar asks for the long forms of the tests that hold the API: more of
// everything, for longer. make hold sets it.
const holdVar = "HOLD"

// hold is how much there is of something in the short form and in the long one.
func hold(short, long int) int {
	if os.Getenv(holdVar) != "" {
		return long
	}
	return short
}

// newHoldWorld is one whose daemon is also reached over TCP, by callers that may
// ask as often as they like.
func newHoldWorld(t *testing.T, listen ...string) *limitWorld {
	t.Helper()
	w := newLimitWorld(t, calm+"serve: {requests: 1000000}\n")
	w.start = func(_ *testing.T, daemon *exec.Cmd) error {
		for _, at := range listen {
			daemon.Args = append(daemon.Args, "--listen", at)
		}
		return daemon.Start()
	}
	w.restart()
	return w
}
