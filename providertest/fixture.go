package providertest

import (
	"fmt"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

// Traits say what a provider can do. What it cannot do it refuses with an
// error, and the suite tests that it does.
type Traits struct {
	TTY        bool // execs can have a terminal
	Signals    bool // single signals reach an exec
	Attach     bool // boxes outlive the daemon
	OtherUsers bool // execs can run as another user than the owner
	Network    bool // every box has a loopback of its own
	Changes    bool // what a box changed can be listed
	Streams    bool // execs can be read and written over a link: [forkbox.Streaming]
}

// Fixture is a provider on a store of its own.
type Fixture struct {
	Provider forkbox.Provider
	Owner    forkbox.Owner
	Traits   Traits

	// LogFile makes the file that the output of an exec is kept in; ReadLog
	// reads it as the daemon would.
	LogFile func(box, exec string) *os.File
	ReadLog func(box, exec string) []forkbox.LogRecord

	// Crash starts the box and runs in it with another process as the daemon,
	// which is then killed with SIGKILL. With Traits.Attach. (A second provider
	// object in this process would not do: the first is not dead, and sees
	// its box taken away.)
	Crash func(t testing.TB, box forkbox.Box, runs ...Command)

	// Break makes the next Start of a box fail, by way of its storage. Calling
	// what it returns mends it.
	Break func(box forkbox.Box) (mend func())

	// Leftovers lists what the store still holds of any box.
	Leftovers func() []string
}

// Factory makes a fixture whose resources go with t.
type Factory func(t testing.TB) Fixture

// Command is an exec to start: what [Fixture.Crash] is given.
type Command struct {
	ID    string
	Spec  forkbox.ExecSpec
	Stdio forkbox.Stdio
}

// toolName is the first argument that makes a test binary a tool.
const toolName = "fbtest-tool"

// Tools are small programs that tests run in a box, or as a daemon to kill:
// the test binary itself, called with a tool's name. A box sees it like any
// other file of the machine.
type Tools map[string]func(args []string) int

// Main runs the tests, or the tool that this process was started as.
func Main(m *testing.M, more Tools) int {
	if len(os.Args) < 3 || os.Args[1] != toolName {
		return m.Run()
	}
	for _, tools := range []Tools{tools, more} {
		if tool := tools[os.Args[2]]; tool != nil {
			return tool(os.Args[3:])
		}
	}
	fmt.Fprintln(os.Stderr, "no such tool:", os.Args[2])
	return 125
}

// Tool is the command line that runs a tool.
func Tool(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err) // no /proc: nothing here works
	}
	return append([]string{self, toolName, name}, args...)
}
