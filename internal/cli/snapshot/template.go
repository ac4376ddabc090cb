package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func TemplateVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "template create|ls|rm|warm",
		Short: "Named starts for boxes",
		Long: `A template is a named start for boxes: forkbox new --template NAME makes a box that
begins as the box it was made from was. It needs that box no more.`,
		Example: `  forkbox template create deps --from try@green
  forkbox new --template deps
  forkbox template warm deps 2
  forkbox template ls
  forkbox template rm deps`,
	}, templateCreateVerb(a), templateListVerb(a), templateRemoveVerb(a), templateWarmVerb(a))
}

func templateCreateVerb(a *app.App) *cobra.Command {
	var spec forkbox.TemplateSpec
	cmd := &cobra.Command{
		Use:   "create --from BOX[@SNAPSHOT] [-m MESSAGE] [--warm N] NAME",
		Short: "Make a template of a box",
		Long: `Make a template of a box as it is now, or was at a snapshot, with its files, its
network, its directory and its environment. The box may go afterwards.

With --warm that many boxes of it are kept ready, so that to make one costs only
the start of the first command.`,
		Example:           "  forkbox template create deps --from try@green\n  forkbox template create deps --from try -m 'after npm ci' --warm 2",
		Args:              app.Exactly(1, "a name: forkbox template create NAME --from BOX[@SNAPSHOT]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Name = args[0]
			return createTemplate(cmd.Context(), a, spec)
		},
	}
	cmd.Flags().StringVar(&spec.From, "from", "", "`BOX[@SNAPSHOT]` to make it of")
	cmd.Flags().StringVarP(&spec.Message, "message", "m", "", "what it is, for people")
	cmd.Flags().IntVar(&spec.Warm, "warm", 0, "keep this many boxes ready")
	cmd.RegisterFlagCompletionFunc("from", a.CompleteRefs(0))
	return cmd
}

func createTemplate(ctx context.Context, a *app.App, spec forkbox.TemplateSpec) error {
	switch {
	case spec.From == "":
		return errors.New("template create needs --from BOX[@SNAPSHOT]")
	case spec.Warm < 0:
		return errors.New("--warm is zero at least")
	}
	var made forkbox.Template
	err := a.Patiently(ctx, "making template "+spec.Name, func(ctx context.Context) (err error) {
		made, err = a.Client().CreateTemplate(ctx, spec)
		return err
	})
	if err != nil {
		return err
	}
	return showTemplate(a, made)
}

// showTemplate prints the name, or the document.
func showTemplate(a *app.App, t forkbox.Template) error {
	if a.JSON {
		return a.PrintJSON(t)
	}
	_, err := fmt.Fprintln(a.Stdout, t.Name)
	return err
}

func templateListVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ls",
		Aliases:           []string{"list"},
		Short:             "List your templates",
		Long:              "List your templates. WARM is how many boxes of it are kept ready.",
		Example:           "  forkbox template ls\n  forkbox template ls --json | jq -r '.templates[].name'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return listTemplates(cmd.Context(), a) },
	}
}

func listTemplates(ctx context.Context, a *app.App) error {
	list, err := a.Client().Templates(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if list == nil {
			list = []forkbox.Template{}
		}
		return a.PrintJSON(api.TemplateList{Templates: list})
	}
	if len(list) == 0 {
		a.Say("no templates yet; make one: forkbox template create NAME --from BOX")
		return nil
	}
	return a.Table("NAME\tCREATED\tFROM\tBASE\tNET\tWARM\tMESSAGE", func(w io.Writer) {
		for _, t := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n",
				terminal.Printable(t.Name), terminal.Ago(t.Created), terminal.Printable(t.From), t.Base.Kind, describe.Net(forkbox.Box{Net: t.Net, Network: t.Network}), t.Warm, terminal.Printable(t.Message))
		}
	})
}

func templateWarmVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "warm NAME N",
		Short: "Keep boxes of a template ready",
		Long: `Keep N boxes of a template ready, so that to make one costs only the start of the
first command. Each takes a few processes' worth of memory while it waits. 0 keeps
none.`,
		Example:           "  forkbox template warm deps 2\n  forkbox template warm deps 0",
		Args:              app.Exactly(2, "a template and a number: forkbox template warm NAME N"),
		ValidArgsFunction: a.CompleteTemplates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a number of boxes", args[1])
			}
			t, err := a.Client().WarmTemplate(cmd.Context(), args[0], n)
			if err != nil {
				return err
			}
			return showTemplate(a, t)
		},
	}
}

func templateRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME…",
		Short:             "Remove a template",
		Long:              "Remove a template. Boxes that were made of it stay as they are.",
		Example:           "  forkbox template rm deps",
		Args:              app.Needs(1, "a template: forkbox template rm NAME…"),
		ValidArgsFunction: a.CompleteTemplates(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return removeTemplates(cmd.Context(), a, args) },
	}
}

func removeTemplates(ctx context.Context, a *app.App, names []string) error {
	c := a.Client()
	defer c.Close()
	known, err := knownTemplates(ctx, a, c)
	if err != nil {
		return err
	}
	gone := []forkbox.Template{}
	failed := a.Each(names, func(name string) error {
		defer a.Progress("removing template " + name)()
		err := c.RemoveTemplate(ctx, name)
		if t, ok := known[name]; ok && err == nil {
			gone = append(gone, t)
		}
		return err
	})
	if a.JSON {
		if err := a.PrintJSON(api.TemplateList{Templates: gone}); err != nil {
			return err
		}
	}
	return failed
}

// knownTemplates are looked up only where they are shown.
func knownTemplates(ctx context.Context, a *app.App, c *client.Client) (map[string]forkbox.Template, error) {
	if !a.JSON {
		return nil, nil
	}
	list, err := c.Templates(ctx)
	known := map[string]forkbox.Template{}
	for _, t := range list {
		known[t.Name] = t
	}
	return known, err
}
