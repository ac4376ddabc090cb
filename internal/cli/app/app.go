// Package app is what the verbs share: the arguments, the client and the daemon
// that it starts, errors and exit codes, completion of names.
package app

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/daemon/launch"
)

// App is what the verbs share.
type App struct {
	terminal.Terminal
	Args    []string
	release string // what the build calls itself
}

// New makes the one of a command line. release is the version that the build
// was given, if any.
func New(release string, args []string, stdout, stderr io.Writer) *App {
	return &App{Terminal: terminal.Terminal{Stdout: stdout, Stderr: stderr}, Args: args, release: release}
}

// Client talks to the daemon and starts one when none runs.
func (a *App) Client() *client.Client {
	c := a.ShyClient()
	c.Redial = func(ctx context.Context) error {
		defer a.Progress("starting the daemon")()
		return launch.Start(ctx, c)
	}
	c.Note = func(text string) { a.Say("note: %s", terminal.Printable(text)) }
	return c
}

// ShyClient talks to the daemon only where one runs already.
func (a *App) ShyClient() *client.Client { return client.New(client.DefaultSocket()) }

// Version is what this program calls itself.
func (a *App) Version() string {
	if a.release != "" {
		return a.release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
