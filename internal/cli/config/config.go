// Package config has the verbs of the configuration: what holds, what is wrong
// with it, and where it is.
package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/config"
)

// Verb is `forkbox config`.
func Verb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "config show|validate|schema|path",
		Short: "What forkbox goes by: files, variables, and what they come to",
		Long: `What forkbox goes by is what is built in, then /etc/forkbox/config.yaml, the user's
own config.yaml, the project's forkbox.yaml, variables and flags; each stands above
those before it, and none opens what the host closed. docs/CONFIG.md has every key.`,
		Example: `  forkbox config show --origin
  forkbox config validate
  forkbox config schema > schema.json
  forkbox config path`,
	}, showVerb(a), validateVerb(a), schemaVerb(a), pathVerb(a))
}

// options are where the daemon of this caller looks.
func options() config.Options { return config.Options{Root: os.Geteuid() == 0} }

func schemaVerb(a *app.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "schema [--project]",
		Short: "The JSON Schema of config.yaml, for editors",
		Long: `The JSON Schema (draft 2020-12) of config.yaml or, with --project, of a project's
forkbox.yaml: an editor that is given it completes keys, says what they mean, and
marks what is not one.`,
		Example: `  forkbox config schema > ~/.config/forkbox/schema.json
  forkbox config schema --project`,
		Args: app.Alone(""),
		RunE: func(*cobra.Command, []string) error {
			of := config.OfConfig
			if project {
				of = config.OfProject
			}
			text, err := json.MarshalIndent(config.Schema(of), "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
			return err
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "of a project's forkbox.yaml")
	return cmd
}

func pathVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Which files count, in their order",
		Long:    "The files that count here, in the order in which they are read, and whether they exist.",
		Example: "  forkbox config path\n  $EDITOR \"$(forkbox config path --json | jq -r '.files[-1].path')\"",
		Args:    app.Alone(""),
		RunE: func(*cobra.Command, []string) error {
			found := config.Paths(options(), place.Here().Dir)
			if a.JSON {
				return a.PrintJSON(map[string]any{"files": found})
			}
			return a.Table("FILE\tOF\tSTATE", func(w io.Writer) {
				for _, f := range found {
					state := "is not there"
					if f.Found {
						state = "is read"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.Printable(f.Path), f.Origin, state)
				}
			})
		},
	}
}
