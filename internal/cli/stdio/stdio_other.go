//go:build !unix

package stdio

import (
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Streams is the caller's stdio. On this system no file goes to a box: the session
// reads and writes them itself.
type Streams struct{ Box forkbox.Stdio }

func Open(in, out, stderr *os.File) (*Streams, error) {
	return &Streams{Box: forkbox.Stdio{In: in, Out: out, Err: stderr}}, nil
}

func (*Streams) Relay()          {}
func (*Streams) Finish()         {}
func (*Streams) Close()          {}
func (*Streams) KeepPipes()      {}
func (*Streams) OnDetach(func()) {}

// HandKeys gives a command that has a terminal every key of the caller's.
func (*Streams) HandKeys(in *os.File, _ *client.Session, _ *Signals, _ func() forkbox.Size) func() {
	if in == nil {
		return func() {}
	}
	return terminal.MakeRaw(in)
}

func InForeground(*os.File) bool { return true }
