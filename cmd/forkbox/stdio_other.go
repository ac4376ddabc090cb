//go:build !unix

package main

import (
	"os"
	"runtime"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

type stdio struct{ box forkbox.Stdio }

func openStdio(_, _, _ *os.File) (*stdio, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "run a command", "open files cannot be handed to a box on %s", runtime.GOOS).
		Hint("forkbox runs on Linux")
}

func (*stdio) relay()          {}
func (*stdio) finish()         {}
func (*stdio) close()          {}
func (*stdio) keepPipes()      {}
func (*stdio) onDetach(func()) {}

func (*stdio) handKeys(*os.File, *client.Session, *signals, func() forkbox.Size) func() {
	return func() {}
}

func inForeground(*os.File) bool { return true }
