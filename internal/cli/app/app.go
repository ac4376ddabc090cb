// Package app is what the verbs share: the arguments, the client and the daemon
// that it starts, errors and exit codes, completion of names.
package app

import (
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/hosts"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/daemon/launch"
)

// App is what the verbs share.
type App struct {
	terminal.Terminal
	Args    []string
	Host    string // the URL or context that was given; empty is the default
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
	c.Note = func(text string) { a.Say("note: %s", terminal.Printable(text)) }
	if c.Host() != "" {
		return c
	}
	c.Redial = func(ctx context.Context) error {
		defer a.Progress("starting the daemon")()
		return launch.Start(ctx, c)
	}
	return c
}

// ShyClient talks to the daemon only where one runs already.
func (a *App) ShyClient() *client.Client {
	remote, err := hosts.Resolve(a.Host, os.Getenv)
	if err != nil {
		return client.NewRefusing(err)
	}
	if remote == nil {
		c := client.New(client.DefaultSocket())
		c.WebSocket = os.Getenv("FORKBOX_TRANSPORT") == "websocket"
		return c
	}
	c, err := client.NewRemote(*remote)
	if err != nil {
		return client.NewRefusing(err)
	}
	return c
}

// Away says whether the daemon is on another machine: then the caller's
// directory, environment and limits mean nothing to it.
func (a *App) Away() bool {
	remote, err := hosts.Resolve(a.Host, os.Getenv)
	return err == nil && remote != nil && !remote.OnLoopback()
}

// Here is what paths of boxes and of reality are relative to.
func (a *App) Here() place.Place {
	if a.Away() {
		return place.Place{Away: true}
	}
	return place.Here()
}

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
