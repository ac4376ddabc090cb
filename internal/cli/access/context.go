package access

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/hosts"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func ContextVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "context add|use|ls|rm",
		Short: "Name daemons on other machines, and choose which one verbs use",
		Long: `A context is a daemon on another machine, by a name: its URL, the fingerprint of its
key, and the token that it is shown. They are kept in contexts.json in your
configuration directory, which only you can read.

Which daemon a verb uses: --host, a URL or a context; else FORKBOX_HOST; else the
context in use; else this machine's. "local" always is this machine's.`,
		Example: `  forkbox context add build https://build:7171 --fingerprint sha256//… <token
  forkbox context use build
  forkbox ls
  forkbox --host local ls
  forkbox context ls`,
	}, contextAddVerb(a), contextUseVerb(a), contextListVerb(a), contextRemoveVerb(a))
}

func contextAddVerb(a *app.App) *cobra.Command {
	c := hosts.Context{}
	var use, unchecked bool
	cmd := &cobra.Command{
		Use:   "add NAME URL [--fingerprint sha256//…] [--use] <TOKEN",
		Short: "Remember a daemon by a name, in place of the one of that name",
		Long: `Remember a daemon by a name. The token is read from stdin, or is FORKBOX_TOKEN: on
the command line others could see it. The daemon is asked once whether it takes it,
unless --unchecked is given.`,
		Example: `  forkbox context add build https://build:7171 --fingerprint sha256//… <token
  ssh build forkbox token create --scope all --expires 30d |
    forkbox context add build https://build:7171 --fingerprint sha256//… --use`,
		Args:              app.Needs(2, "a name and a URL: forkbox context add NAME URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c.Name, c.URL = args[0], strings.TrimSuffix(args[1], "/")
			if err := hosts.CheckName(c.Name); err != nil {
				return err
			}
			if c.Token, err = readToken(); err != nil {
				return err
			}
			remote, err := client.NewRemote(c.Remote())
			if err != nil {
				return err
			}
			defer remote.Close()
			if !unchecked {
				if _, err := remote.Boxes(cmd.Context()); err != nil {
					return err
				}
			}
			return keepContext(a, c, use)
		},
	}
	cmd.Flags().StringVar(&c.Fingerprint, "fingerprint", "", "pin the daemon's key: what forkbox listeners says there")
	cmd.Flags().BoolVar(&use, "use", false, "use it from now on")
	cmd.Flags().BoolVar(&unchecked, "unchecked", false, "do not ask the daemon now")
	cmd.RegisterFlagCompletionFunc("fingerprint", cobra.NoFileCompletions)
	return cmd
}

// longestToken bounds what is read of stdin.
const longestToken = 4096

func readToken() (string, error) {
	if token := os.Getenv("FORKBOX_TOKEN"); token != "" {
		return token, nil
	}
	if terminal.IsTerminal(os.Stdin) {
		fmt.Fprint(os.Stderr, "token: ")
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, longestToken))
	token, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if err != nil || token == "" {
		return "", forkbox.Errorf(forkbox.Invalid, "add a context", "there is no token on stdin").
			Hint("where the daemon runs: forkbox token create --scope all, and pipe it here")
	}
	return token, nil
}

func keepContext(a *app.App, c hosts.Context, use bool) error {
	all, err := hosts.Load()
	if err != nil {
		return err
	}
	all.Put(c)
	if use {
		all.Current = c.Name
	}
	if err := all.Save(); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(shown(all, c))
	}
	if use {
		a.Say("context %s is %s, and what verbs use from now on", c.Name, c.URL)
		return nil
	}
	a.Say("context %s is %s; use it: forkbox --host %s ls, or forkbox context use %s", c.Name, c.URL, c.Name, c.Name)
	return nil
}

func contextUseVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME|local",
		Short:             "Have verbs use a context, or this machine's daemon again",
		Example:           "  forkbox context use build\n  forkbox context use local",
		Args:              app.Needs(1, "a context: forkbox context use NAME"),
		ValidArgsFunction: CompleteContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := hosts.Load()
			if err != nil {
				return err
			}
			c, ok := all.Find(args[0])
			if !ok && args[0] != hosts.Local {
				return noContext(args[0])
			}
			if all.Current = c.Name; !ok {
				c = hosts.Context{Name: hosts.Local}
			}
			if err := all.Save(); err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(shown(all, c))
			}
			a.Say("verbs use %s from now on", c.Name)
			return nil
		},
	}
}

// contextShown is a context as it is shown: without its token.
type contextShown struct {
	Name        string `json:"name"`
	URL         string `json:"url,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Current     bool   `json:"current"`
}

func shown(all hosts.Contexts, c hosts.Context) contextShown {
	return contextShown{c.Name, c.URL, c.Fingerprint, all.Current == c.Name || all.Current == "" && c.Name == hosts.Local}
}

func contextListVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ls",
		Aliases:           []string{"list"},
		Short:             "List the contexts",
		Long:              "List the contexts, without their tokens. The one that verbs use has a star.",
		Example:           "  forkbox context ls\n  forkbox context ls --json | jq -r '.contexts[].url'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			all, err := hosts.Load()
			if err != nil {
				return err
			}
			list := []contextShown{shown(all, hosts.Context{Name: hosts.Local})}
			for _, c := range all.List {
				list = append(list, shown(all, c))
			}
			if a.JSON {
				return a.PrintJSON(struct {
					Contexts []contextShown `json:"contexts"`
				}{list})
			}
			return a.Table(" \tNAME\tURL\tFINGERPRINT", func(w io.Writer) {
				for _, c := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", map[bool]string{true: "*", false: " "}[c.Current], c.Name, terminal.Printable(c.URL), c.Fingerprint)
				}
			})
		},
	}
}

func contextRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME…",
		Aliases:           []string{"remove"},
		Short:             "Forget contexts, with their tokens",
		Long:              "Forget contexts, with their tokens. The tokens go on to be valid: forkbox token rm ends one, where the daemon runs.",
		Example:           "  forkbox context rm build",
		Args:              app.Needs(1, "a context: forkbox context rm NAME…"),
		ValidArgsFunction: CompleteContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := hosts.Load()
			if err != nil {
				return err
			}
			for _, name := range args {
				if !all.Remove(name) {
					return noContext(name)
				}
				if all.Current == name {
					all.Current = ""
				}
			}
			return all.Save()
		},
	}
}

func noContext(name string) error {
	return forkbox.Errorf(forkbox.NotFound, "find context "+name, "there is none of that name").Hint("see: forkbox context ls")
}

// CompleteContexts names the contexts.
func CompleteContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, _ := hosts.Load()
	list := []string{hosts.Local}
	for _, c := range all.List {
		list = append(list, c.Name)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
