// Package access has the verbs about who may call the daemon, from where, and
// what they did.
package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func TokenVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "token create|ls|rm",
		Short: "Let programs and other machines act for you, within limits",
		Long: `A token lets a program act for you through a daemon that listens beyond its socket
(see: forkbox serve --listen), as far as its scopes go:

  read     look at boxes, commands, changes, receipts, events
  boxes    make, start, stop, fork, snapshot and remove boxes
  exec     run commands in boxes, and end them
  files    read and write files of boxes
  apply    change reality: apply, undo
  secrets  keep secrets for boxes, and let boxes see the host's
  policy   change what boxes may use and reach, publish ports
  admin    the store, tokens, the audit trail, the daemon itself

read comes with boxes, exec, files and apply. With boxes and exec alone there is no
way to change reality, to see its secrets, or to widen what a box reaches;
docs/SECURITY.md says what each scope can do.`,
		Example: `  forkbox token create --scope boxes,exec --expires 30d --name ci
  forkbox token ls
  forkbox token rm ci
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:7171/v1/boxes`,
	}, tokenCreateVerb(a), tokenListVerb(a), tokenRemoveVerb(a))
}

func tokenCreateVerb(a *app.App) *cobra.Command {
	var req api.TokenRequest
	var expires string
	cmd := &cobra.Command{
		Use:   "create --scope SCOPE,… [--name NAME] [--expires 30d|never] [--user USER]",
		Short: "Make a token",
		Long: `Make a token and print it. It is shown this once: the daemon keeps only a hash of
it. Root can make one for another user, of a daemon of root's. A token with the
scope admin can make others, with no more scopes and no longer life than its own;
they end with it.`,
		Example: `  forkbox token create --scope boxes,exec --expires 30d --name ci
  forkbox token create --scope read --expires 1h --json | jq -r .token
  sudo forkbox token create --scope all --user ada --expires never`,
		Args: app.Alone(""),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if len(req.Scopes) == 0 {
				return errors.New("token create needs what it may do: --scope boxes,exec")
			}
			if req.Life, err = parseLife(expires); err != nil {
				return err
			}
			return createToken(cmd.Context(), a, req)
		},
	}
	cmd.Flags().StringSliceVar(&req.Scopes, "scope", nil, "what it may do: some of `read,boxes,exec,files,apply,secrets,policy,admin`, or all")
	cmd.Flags().StringVar(&req.Name, "name", "", "what you call it")
	cmd.Flags().StringVar(&req.User, "user", "", "whom it acts for, if not you")
	cmd.Flags().StringVar(&expires, "expires", "30d", "when it ends by itself: a `time` from now, or never")
	for _, name := range []string{"name", "user", "expires"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	cmd.RegisterFlagCompletionFunc("scope", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names := []string{"all"}
		for _, scope := range api.Scopes {
			names = append(names, string(scope))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func parseLife(text string) (time.Duration, error) {
	if text == "never" {
		return -1, nil
	}
	life, err := forkbox.ParseLimit(forkbox.TTL, text)
	if err != nil || life <= 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, "make a token", "--expires %q is no time from now", text).Hint("for example 30d, 12h, or never")
	}
	return time.Duration(life), nil
}

func createToken(ctx context.Context, a *app.App, req api.TokenRequest) error {
	c := a.Client()
	defer c.Close()
	made, err := c.CreateToken(ctx, req)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(made)
	}
	if _, err := fmt.Fprintln(a.Stdout, made.Token); err != nil {
		return err
	}
	a.Say("token %s of %s may %s, until %s; it is not shown again. End it: forkbox token rm %s",
		made.Made.ID, made.Made.User, strings.Join(made.Made.Scopes, ","), until(made.Made), made.Made.ID)
	return nil
}

func until(t forkbox.Token) string {
	if t.Expires == nil {
		return "it is ended"
	}
	return t.Expires.Local().Format("2006-01-02 15:04")
}

func tokenListVerb(a *app.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "ls [--all]",
		Aliases:           []string{"list"},
		Short:             "List your tokens",
		Long:              "List your tokens, without their secrets; root's are those of all users. With --all also those that ended in the last month.",
		Example:           "  forkbox token ls\n  forkbox token ls --all --json | jq -r '.tokens[].id'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return listTokens(cmd.Context(), a, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}

func listTokens(ctx context.Context, a *app.App, all bool) error {
	c := a.Client()
	defer c.Close()
	list, err := c.Tokens(ctx)
	if err != nil {
		return err
	}
	shown := []forkbox.Token{}
	for _, t := range list {
		if all || t.Ended(time.Now()) == nil {
			shown = append(shown, t)
		}
	}
	return a.List(api.TokenList{Tokens: shown}, len(shown), "no tokens; make one: forkbox token create --scope boxes,exec", "ID\tNAME\tUSER\tSCOPES\tCREATED\tUSED\tENDS", func(w io.Writer) { writeTokens(w, shown) })
}

func writeTokens(w io.Writer, list []forkbox.Token) {
	for _, t := range list {
		used, ends := "never", "never"
		if t.Used != nil {
			used = terminal.Ago(*t.Used)
		}
		switch {
		case t.Revoked != nil:
			ends = "revoked " + terminal.Ago(*t.Revoked)
		case t.Ended(time.Now()) != nil:
			ends = "ended " + terminal.Ago(*t.Expires)
		case t.Expires != nil:
			ends = t.Expires.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, terminal.Printable(t.Name), terminal.Printable(t.User), strings.Join(t.Scopes, ","), terminal.Ago(t.Created), used, ends)
	}
}

func tokenRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rm TOKEN…",
		Aliases:           []string{"remove", "revoke"},
		Short:             "End tokens",
		Long:              "End tokens, by id or name, and those that were made with them. What they have begun goes on; their next request is refused.",
		Example:           "  forkbox token rm ci\n  forkbox token rm k3vq7pd2m4xa",
		Args:              app.Needs(1, "a token: forkbox token rm TOKEN…"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return removeTokens(cmd.Context(), a, args) },
	}
}

func removeTokens(ctx context.Context, a *app.App, refs []string) error {
	c := a.Client()
	defer c.Close()
	ended := []forkbox.Token{}
	failed := a.Each(refs, func(ref string) error {
		list, err := c.RemoveToken(ctx, ref)
		ended = append(ended, list...)
		return err
	})
	if a.JSON {
		if err := a.PrintJSON(api.TokenList{Tokens: ended}); err != nil {
			return err
		}
	}
	return failed
}
