//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/rogpeppe/go-internal/testscript"
)

// onlyLocal are the scripts that are about a daemon on this machine, and why.
var onlyLocal = map[string]string{
	"completion": startsNone, "errors": startsNone, "help": startsNone, "limits_flags": startsNone, "limits_help": startsNone, "limits_project": startsNone, "net_flags": startsNone,
	"daemon": itsOwn, "away": itsOwn, "listen": itsOwn, "scope": itsOwn, "serve": itsOwn, "restart": itsOwn, "small": itsOwn, "config": itsOwn, "snapshot": itsOwn, "snapshot_power": itsOwn, "template": itsOwn, "undo": itsOwn, "export_base": itsOwn,
	"users": "it is about the peers of a socket", "users_group": "it is about the peers of a socket", "snapshot_users": "it is about the peers of a socket", "closed": "it is about the peers of a socket",
	"inside": "a box has no way to that address", "stdio": "open files of the caller do not travel",
}

const (
	startsNone = "it looks that no daemon was started"
	itsOwn     = "it starts, stops or kills daemons of its own"
)

// TestScriptsOverTCP runs the scripts of TestScripts again, with every command
// reaching the daemon over HTTP and with a token.
func TestScriptsOverTCP(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := slices.DeleteFunc(all, func(path string) bool {
		_, local := onlyLocal[strings.TrimSuffix(filepath.Base(path), ".txtar")]
		return local
	})
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			home, err := scriptHome(t, env)
			if err != nil {
				return err
			}
			return listenFor(env, home)
		},
	})
}

// listenFor starts the daemon of a home where it can be reached over TCP, and has
// the script's commands go there.
func listenFor(env *testscript.Env, home string) error {
	log, err := os.OpenFile(filepath.Join(filepath.Dir(home), "log"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	daemon := forkboxCommand(home, "serve", "--listen", "http://127.0.0.1:0")
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		return err
	}
	env.Defer(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		_ = daemon.Wait()
	})
	local := client.New(filepath.Join(home, "forkbox.sock"))
	defer local.Close()
	ctx, cancel := context.WithTimeout(context.Background(), worldPatience)
	defer cancel()
	for err := local.Ping(ctx); err != nil; err = local.Ping(ctx) {
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	list, err := local.Listeners(ctx)
	if err != nil {
		return err
	}
	made, err := local.CreateToken(ctx, api.TokenRequest{Scopes: []string{"all"}, Life: time.Hour})
	if err != nil {
		return err
	}
	env.Setenv("FORKBOX_HOST", list[0].URL)
	env.Setenv("FORKBOX_TOKEN", made.Token)
	return nil
}
