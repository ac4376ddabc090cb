package snapshot

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

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
		if err := a.PrintJSON(client.TemplateList{Templates: gone}); err != nil {
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
