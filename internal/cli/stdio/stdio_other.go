//go:build !unix

package stdio

import (
	"os"
	"runtime"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

type Streams struct{ Box forkbox.Stdio }

func Open(_, _, _ *os.File) (*Streams, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "run a command", "open files cannot be handed to a box on %s", runtime.GOOS).
		Hint("forkbox runs on Linux")
}

func (*Streams) Relay()          {}
func (*Streams) Finish()         {}
func (*Streams) Close()          {}
func (*Streams) KeepPipes()      {}
func (*Streams) OnDetach(func()) {}

func (*Streams) HandKeys(*os.File, *client.Session, *Signals, func() forkbox.Size) func() {
	return func() {}
}

func InForeground(*os.File) bool { return true }
