package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/network/rules"
)

func SecretVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "secret set|ls|rm",
		Short: "Credentials that boxes use and never see",
		Long: `A secret is a credential that boxes can use without having it. A box that is made
with --secret NAME has a placeholder in its variable NAME. Where it sends the
placeholder in a header to one of the secret's hosts, the gate puts the value in;
to anywhere else the placeholder goes as it is. The daemon keeps values encrypted.

These are not the credentials of this machine that are hidden from boxes: to show
one of those to a box there is --allow-secrets.`,
		Example: `  forkbox secret set API_TOKEN --host api.example.com < token.txt
  forkbox run --secret API_TOKEN -- ./release.sh
  forkbox secret ls
  forkbox secret rm API_TOKEN`,
	}, secretSetVerb(a), secretListVerb(a), secretRemoveVerb(a))
}

func secretSetVerb(a *app.App) *cobra.Command {
	var from secretSource
	var hosts []string
	cmd := &cobra.Command{
		Use:   "set NAME --host HOST… [--from-env VAR|--from-file FILE]",
		Short: "Keep a secret",
		Long: `Keep a secret, in place of the one of that name. Its value is read from stdin, or
asked for at a terminal without showing it, or taken from a variable or a file; it
is never part of a command line, which others can see. A line's end after it is not
part of it. NAME is the variable that boxes have the placeholder in.

For a daemon on another machine: forkbox --host URL secret set …, before the verb.`,
		Example: `  forkbox secret set API_TOKEN --host api.example.com
  forkbox secret set API_TOKEN --host api.example.com --host '*.api.example.com' --from-env TOKEN
  pass show work/token | forkbox secret set API_TOKEN --host api.example.com`,
		Args:              app.Exactly(1, "a name: forkbox secret set NAME --host HOST"),
		ValidArgsFunction: a.CompleteSecrets(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch err := rules.CheckSecret(args[0]); {
			case err != nil:
				return err
			case len(hosts) == 0:
				return errors.New("secret set needs the host that it is sent to: --host HOST")
			case from.variable != "" && from.file != "":
				return errors.New("--from-env and --from-file exclude each other")
			}
			return setSecret(cmd.Context(), a, args[0], hosts, from)
		},
	}
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "send it to this `host`, or '*.example.org' for all below one (repeatable)")
	cmd.Flags().StringVar(&from.variable, "from-env", "", "take the value of this `variable`")
	cmd.Flags().StringVar(&from.file, "from-file", "", "take what is in this `file`")
	cmd.RegisterFlagCompletionFunc("host", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("from-env", cobra.NoFileCompletions)
	return cmd
}

func setSecret(ctx context.Context, a *app.App, name string, hosts []string, from secretSource) error {
	value, err := from.read(ctx, a, name)
	if err != nil {
		return err
	}
	c := a.Client()
	defer c.Close()
	if err := c.SetSecret(ctx, name, api.SecretRequest{Value: value, Hosts: hosts}); err != nil {
		return err
	}
	if !a.JSON {
		a.Say("kept %s; use it: forkbox run --secret %s -- CMD…", name, name)
		return nil
	}
	list, err := c.Secrets(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name == name {
			return a.PrintJSON(s)
		}
	}
	return forkbox.Errorf(forkbox.NotFound, "look at secret "+name, "it is gone again")
}

func secretListVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ls",
		Aliases:           []string{"list"},
		Short:             "List your secrets",
		Long:              "List your secrets and the hosts that each is sent to. Nothing shows their values again.",
		Example:           "  forkbox secret ls\n  forkbox secret ls --json | jq -r '.secrets[].name'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.Client().Secrets(cmd.Context())
			if err != nil {
				return err
			}
			return a.List(api.SecretList{Secrets: list}, len(list), "no secrets yet; keep one: forkbox secret set NAME --host HOST", "NAME\tHOSTS\tCREATED\tUPDATED", func(w io.Writer) { writeSecrets(w, list) })
		},
	}
}

func writeSecrets(w io.Writer, list []forkbox.Secret) {
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Printable(s.Name), terminal.Printable(strings.Join(s.Hosts, ", ")), terminal.Ago(s.Created), terminal.Ago(s.Updated))
	}
}

func secretRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME…",
		Aliases: []string{"remove"},
		Short:   "Forget a secret",
		Long: `Forget a secret. Boxes that were made with it keep their placeholder, which then
stands for nothing.`,
		Example:           "  forkbox secret rm API_TOKEN",
		Args:              app.Needs(1, "a name: forkbox secret rm NAME…"),
		ValidArgsFunction: a.CompleteSecrets(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return removeSecrets(cmd.Context(), a, args) },
	}
}

func removeSecrets(ctx context.Context, a *app.App, names []string) error {
	c := a.Client()
	defer c.Close()
	removed := []string{}
	failed := a.Each(names, func(name string) error {
		err := c.RemoveSecret(ctx, name)
		if err == nil {
			removed = append(removed, name)
		}
		return err
	})
	if a.JSON {
		if err := a.PrintJSON(map[string]any{"removed": removed}); err != nil {
			return err
		}
	}
	return failed
}

// secretSource is where a secret's value comes from; stdin if nothing is said.
// None of its errors has the value in it.
type secretSource struct{ variable, file string }

// longestSecret is what the daemon keeps of one.
const longestSecret = 64 << 10

func (s secretSource) read(ctx context.Context, a *app.App, name string) (string, error) {
	const op = "read the secret"
	text, err := s.text(ctx, a, name)
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case value == "":
		return "", forkbox.Errorf(forkbox.Invalid, op, "it is empty")
	case len(value) > longestSecret:
		return "", forkbox.Errorf(forkbox.Invalid, op, "it has more than %d bytes", longestSecret)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", forkbox.Errorf(forkbox.Invalid, op, "it has more than one line, or a NUL byte").Hint("it has to fit into a header")
	case !utf8.ValidString(value):
		return "", forkbox.Errorf(forkbox.Invalid, op, "it is not UTF-8").Hint("keep it in the form in which it is sent, base64 for instance")
	}
	return value, nil
}

func (s secretSource) text(ctx context.Context, a *app.App, name string) (string, error) {
	switch {
	case s.variable != "":
		value, set := os.LookupEnv(s.variable)
		if !set {
			return "", forkbox.Errorf(forkbox.NotFound, "read the secret", "there is no variable %s", s.variable)
		}
		return value, nil
	case s.file != "":
		f, err := os.Open(s.file)
		if err != nil {
			return "", forkbox.Errorf(forkbox.NotFound, "read the secret", "%w", err)
		}
		defer f.Close()
		return readSecret(f)
	case terminal.IsTerminal(os.Stdin):
		return askSecret(ctx, a, name)
	}
	return readSecret(os.Stdin)
}

// readSecret takes no more than it needs to know that it is too much.
func readSecret(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestSecret+3))
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, "read the secret", "%w", err)
	}
	return string(text), nil
}

// longestTyped is what a terminal hands over of one line. What is longer would be
// cut off without a word.
const longestTyped = 4000

// askSecret does not show what is typed. Whatever ends it, the terminal shows
// again what is typed next.
func askSecret(ctx context.Context, a *app.App, name string) (string, error) {
	restore := terminal.MakeRaw(os.Stdin)
	defer restore()
	var value string
	err := terminal.Heeding([]os.Signal{syscall.SIGTERM, syscall.SIGHUP}, ctx, func(ctx context.Context) error {
		select {
		case typed := <-typeSecret(a.Stderr, name):
			value = typed.text
			return typed.err
		case <-ctx.Done(): // the read goes on until the process ends
			return ctx.Err()
		}
	})
	if err == nil && len(value) > longestTyped {
		err = forkbox.Errorf(forkbox.Invalid, "read the secret", "it is too long to be typed").Hint("use --from-file FILE, or a pipe")
	}
	return value, err
}

type typedSecret struct {
	text string
	err  error
}

// typeSecret asks only when the terminal is silent already: what the user pastes
// as soon as they are asked is not shown either.
func typeSecret(out io.Writer, name string) <-chan typedSecret {
	done := make(chan typedSecret, 1)
	keys := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, out}, "")
	go func() {
		text, err := keys.ReadPassword("value of " + name + ": ")
		switch {
		case errors.Is(err, io.EOF): // ctrl-C and ctrl-D
			io.WriteString(out, "\r\n")
			err = terminal.Interrupted
		case err != nil:
			err = forkbox.Wrap("ask for the secret", err)
		}
		done <- typedSecret{text, err}
	}()
	return done
}
