//go:build !unix

package stdio

import (
	"os"
	"runtime"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

type stdio struct{ Box forkbox.Stdio }

func Open(_, _, _ *os.File) (*stdio, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "run a command", "open files cannot be handed to a box on %s", runtime.GOOS).
		Hint("forkbox runs on Linux")
}

func (*stdio) Relay()          {}
func (*stdio) Finish()         {}
func (*stdio) Close()          {}
func (*stdio) KeepPipes()      {}
func (*stdio) OnDetach(func()) {}

func (*stdio) HandKeys(*os.File, *client.Session, *Signals, func() forkbox.Size) func() {
	return func() {}
}

func InForeground(*os.File) bool { return true }
