package main

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/forkbox/forkbox/client"
)

// app is what the verbs share.
type app struct {
	console
	args    []string
	release string // what the build calls itself
}

// newApp makes the one of a command line. release is the version that the build
// was given, if any.
func newApp(release string, args []string, stdout, stderr io.Writer) *app {
	return &app{console: console{stdout: stdout, stderr: stderr}, args: args, release: release}
}

// client talks to the daemon and starts one when none runs.
func (a *app) client() *client.Client {
	c := a.shyClient()
	c.Redial = func(ctx context.Context) error {
		defer a.progress("starting the daemon")()
		return startDaemon(ctx, c)
	}
	c.Note = func(text string) { a.say("note: %s", printable(text)) }
	return c
}

// shyClient talks to the daemon only where one runs already.
func (a *app) shyClient() *client.Client { return client.New(client.DefaultSocket()) }

// version is what this program calls itself.
func (a *app) version() string {
	if a.release != "" {
		return a.release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
