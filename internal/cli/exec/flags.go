package exec

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/stdio"
)

// execFlags are those of the verbs that run a command.
type execFlags struct {
	env     []string
	dir     string
	user    string
	timeout flags.TimeoutFlag
	limits  flags.Limits
}

func (f *execFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the command is the command's
	flags.StringArrayVarP(&f.env, "env", "e", nil, "set a variable: `K=V`, or K for its value here (repeatable)")
	flags.StringVarP(&f.dir, "workdir", "w", "", "run in this `directory` of the box")
	flags.Var(&f.timeout, "timeout", "end the command after this time, with exit code 124; 0 is never")
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// addLimits is for verbs that run a command in a box that is there already.
func (f *execFlags) addLimits(cmd *cobra.Command) {
	f.limits.AddForExec(cmd)
	f.limits.AddWait(cmd)
}

// request is what to run. The command ends when this process does: a caller
// that is killed must not leave it behind.
func (f *execFlags) request(a *app.App, argv []string) (api.ExecRequest, error) {
	if a.Away() {
		return f.requestAway(argv)
	}
	dir, err := f.workdir()
	if err != nil {
		return api.ExecRequest{}, err
	}
	env, err := f.extraEnv()
	if err != nil {
		return api.ExecRequest{}, err
	}
	return api.ExecRequest{
		ExecSpec:     forkbox.ExecSpec{Argv: argv, Dir: dir, Here: f.dir == "", Env: os.Environ(), User: f.user, Timeout: f.timeout.Span(), Umask: stdio.CallerUmask(), Traits: stdio.CallerTraits()},
		ExtraEnv:     env,
		Wish:         f.timed(f.limits.Wish()),
		OnDisconnect: api.KillOnDisconnect,
	}, nil
}

// requestAway is a request to a daemon on another machine, where the caller's
// directory, environment and limits mean nothing.
func (f *execFlags) requestAway(argv []string) (req api.ExecRequest, err error) {
	if f.dir != "" && !path.IsAbs(f.dir) { // also where this system has other paths
		return req, forkbox.Errorf(forkbox.Invalid, "find the directory "+f.dir, "it is on another machine, where it cannot be said from here").Hint("give all of its path")
	}
	env, err := f.extraEnv()
	if term := os.Getenv("TERM"); term != "" {
		env = append([]string{"TERM=" + term}, env...)
	}
	return api.ExecRequest{
		ExecSpec:     forkbox.ExecSpec{Argv: argv, Dir: f.dir, User: f.user, Timeout: f.timeout.Span()},
		ExtraEnv:     env,
		Wish:         f.timed(f.limits.Wish()),
		OnDisconnect: api.KillOnDisconnect,
	}, err
}

// timed is a wish with the timeout in it.
func (f *execFlags) timed(wish forkbox.Wish) forkbox.Wish {
	if f.timeout.Given {
		limits := forkbox.Limits{forkbox.Timeout: f.timeout.Value}
		maps.Copy(limits, wish.Limits)
		wish.Limits = limits
	}
	return wish
}

func (f *execFlags) workdir() (string, error) {
	here, err := os.Getwd()
	switch {
	case filepath.IsAbs(f.dir):
		return flags.AsText(filepath.Clean(f.dir))
	case err == nil:
		return flags.AsText(filepath.Join(here, f.dir))
	case f.dir == "":
		return "", nil // this directory is gone; a box that has its own place does not mind
	}
	return "", forkbox.Errorf(forkbox.Invalid, "find the directory "+f.dir, "%w", err)
}

func (f *execFlags) extraEnv() ([]string, error) {
	var env []string
	for _, pair := range f.env {
		name, _, has := strings.Cut(pair, "=")
		if name == "" {
			return nil, fmt.Errorf("-e %q has no name", pair)
		}
		if value, set := os.LookupEnv(name); !has && set {
			pair, has = name+"="+value, true
		}
		if has {
			env = append(env, pair)
		}
	}
	return env, nil
}
