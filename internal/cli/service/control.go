package service

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// controlVerb is one that does something to services of a box.
func controlVerb(a *app.App, what, short, doing string) *cobra.Command {
	return &cobra.Command{
		Use:               what + " BOX SERVICE…",
		Short:             short,
		Example:           "  forkbox services " + what + " try postgresql",
		Args:              app.Needs(2, "a box and a service: forkbox services "+what+" BOX SERVICE…"),
		ValidArgsFunction: completeInBox(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			var box forkbox.Box
			failed := a.Each(args[1:], func(name string) error {
				defer a.Progress(doing + " " + name)()
				after, err := c.ControlService(cmd.Context(), args[0], name, what)
				if err == nil {
					box = after
				}
				return err
			})
			if a.JSON && box.ID != "" {
				if err := a.PrintJSON(box); err != nil {
					return err
				}
			}
			return failed
		},
	}
}

func lsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ls BOX",
		Short:             "Show the services of a box",
		Long:              "Show the services that a box has copies of: how they do, and how old their data is.",
		Example:           "  forkbox services ls try",
		Args:              app.Exactly(1, "a box: forkbox services ls BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			box, err := c.Box(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"services": orEmpty(box.Services)})
			}
			if len(box.Services) == 0 {
				a.Say("%s has no services; a box gets them when it is made: forkbox new --with NAME", box.Name)
				return nil
			}
			return a.Table("NAME\tPORTS\tSTATE\tDATA OF\tEXEC", func(w io.Writer) {
				for _, s := range box.Services {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", terminal.Printable(s.Name), joined(s.Ports), s.State, taken(s), s.Exec)
				}
			})
		},
	}
}

func orEmpty(list []forkbox.BoxService) []forkbox.BoxService {
	if list == nil {
		return []forkbox.BoxService{}
	}
	return list
}

func taken(s forkbox.BoxService) string {
	if s.Taken == nil {
		return "-"
	}
	return terminal.Ago(*s.Taken)
}

func logsVerb(a *app.App) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:               "logs BOX SERVICE",
		Short:             "Print what a service of a box said",
		Example:           "  forkbox services logs -f try postgresql",
		Args:              app.Exactly(2, "a box and a service: forkbox services logs BOX SERVICE"),
		ValidArgsFunction: completeInBox(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return printLogs(cmd.Context(), a, c, args[0], args[1], follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until it ends")
	return cmd
}

func printLogs(ctx context.Context, a *app.App, c *client.Client, ref, name string, follow bool) error {
	box, err := c.Box(ctx, ref)
	if err != nil {
		return err
	}
	s := box.FindService(name)
	if s == nil || s.Exec == "" {
		return forkbox.Errorf(forkbox.NotFound, "read the log", "%s has no service %q that ran", box.Name, name).
			Hint("forkbox services ls %s", box.Name)
	}
	return c.Logs(ctx, box.ID, s.Exec, follow, func(r forkbox.LogRecord) error {
		if a.JSON {
			return a.PrintJSON(r)
		}
		_, err := a.Stdout.Write(r.Data)
		return err
	})
}

func refreshVerb(a *app.App) *cobra.Command {
	var pause flags.PauseFlag
	cmd := &cobra.Command{
		Use:   "refresh SERVICE…",
		Short: "Copy the data of services anew",
		Long: `Take the data of services of this machine as it is now, for the boxes that are
made from then on. Without this, boxes made within a quarter of an hour begin with
the same data.`,
		Example:           "  forkbox services refresh postgresql\n  forkbox services refresh --pause 5s db",
		Args:              app.Needs(1, "a service: forkbox services refresh SERVICE…"),
		ValidArgsFunction: a.CompleteServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			project, err := flags.ProjectServices()
			if err != nil {
				return err
			}
			req := api.RefreshRequest{Services: args, Pause: pause.Span(), Settings: project.Settings}
			if !a.Away() {
				req.Env = os.Environ()
			}
			var stills []forkbox.Still
			err = a.Patiently(cmd.Context(), "copying "+strings.Join(args, ", "), func(ctx context.Context) (err error) {
				stills, err = c.RefreshServices(ctx, req)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"stills": stills})
			}
			return a.Table("SERVICE\tSIZE\tCOPIED BY\tSTOOD STILL", func(w io.Writer) {
				for _, s := range stills {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Printable(s.Service), terminal.RoundBytes(s.Bytes), s.Way, s.Paused.Round(100*1000))
				}
			})
		},
	}
	cmd.Flags().Var(&pause, "pause", "how long each may stand still (default 500ms)")
	cmd.RegisterFlagCompletionFunc("pause", cobra.NoFileCompletions)
	return cmd
}

// completeInBox offers boxes, and then the services of that box.
func completeInBox(a *app.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.CompleteBoxes(1)(cmd, args, word)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), app.CompletionPatience)
		defer cancel()
		box, err := a.ShyClient().Box(ctx, args[0])
		if err != nil {
			return nil, app.NoFiles
		}
		var names []string
		for _, s := range box.Services {
			if !slices.Contains(args[1:], s.Name) {
				names = append(names, s.Name+"\t"+s.State)
			}
		}
		return names, app.NoFiles
	}
}
