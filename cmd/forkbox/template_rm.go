package main

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) templateRemoveVerb() *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME…",
		Short:             "Remove a template",
		Long:              "Remove a template. Boxes that were made of it stay as they are.",
		Example:           "  forkbox template rm deps",
		Args:              needs(1, "a template: forkbox template rm NAME…"),
		ValidArgsFunction: a.completeTemplates(0),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.removeTemplates(cmd.Context(), args) },
	}
}

func (a *app) removeTemplates(ctx context.Context, names []string) error {
	c := a.client()
	defer c.Close()
	known, err := a.knownTemplates(ctx, c)
	if err != nil {
		return err
	}
	gone := []forkbox.Template{}
	failed := a.each(names, func(name string) error {
		defer a.progress("removing template " + name)()
		err := c.RemoveTemplate(ctx, name)
		if t, ok := known[name]; ok && err == nil {
			gone = append(gone, t)
		}
		return err
	})
	if a.json {
		if err := a.printJSON(client.TemplateList{Templates: gone}); err != nil {
			return err
		}
	}
	return failed
}

// knownTemplates are looked up only where they are shown.
func (a *app) knownTemplates(ctx context.Context, c *client.Client) (map[string]forkbox.Template, error) {
	if !a.json {
		return nil, nil
	}
	list, err := c.Templates(ctx)
	known := map[string]forkbox.Template{}
	for _, t := range list {
		known[t.Name] = t
	}
	return known, err
}
