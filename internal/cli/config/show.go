package config

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/hostload"
)

func showVerb(a *app.App) *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use:   "show [--origin] [KEY…]",
		Short: "Say what holds, and who says so",
		Long: `Say the value of each key, or of those that begin with what is named. With --origin
also where it is from: what is built in, a file with its line, a variable or a flag,
and what weaker ones say. One that binds holds as well: the tighter of both counts.

Where a daemon runs it is what that one goes by, with what waits for its next start
and what this host cannot give; else it is what one that starts now would. What the
project's forkbox.yaml asks for comes last; flags of the verb that makes a box stand
above it, and forkbox show BOX says what came of them.`,
		Example: `  forkbox config show --origin
  forkbox config show admission reserve
  forkbox config show --json | jq -r '.settings[] | select(.origin != "default").key'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := gather(cmd.Context(), a)
			if err != nil {
				return err
			}
			c.Settings = only(c.Settings, args)
			if a.JSON {
				return a.PrintJSON(c)
			}
			return draw(a, c, origin)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value is from")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		for _, k := range config.Keys() {
			names = append(names, cobra.CompletionWithDesc(k.Name, k.Doc))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// gather asks the daemon, if one runs, and reads the project's file here, with
// the caller's rights. It starts none: that would change what holds.
func gather(ctx context.Context, a *app.App) (c api.Configuration, err error) {
	daemon := a.Client()
	if daemon.Ping(ctx) == nil {
		c, err = daemon.Configuration(ctx)
	} else {
		c, err = atNextStart()
	}
	if err != nil {
		return c, err
	}
	asked, err := config.ShowProject(place.Here().Dir)
	c.Settings = append(c.Settings, asked...)
	return c, err
}

// atNextStart is what a daemon would go by that starts now.
func atNextStart() (api.Configuration, error) {
	o := options()
	l, err := config.Load(o)
	if err != nil {
		return api.Configuration{}, err
	}
	c := api.Configuration{Files: l.Files(o), Settings: l.Show(), Notes: []string{"no daemon runs: this is what one that starts now would go by"}}
	if load, err := hostload.Read("/"); err == nil { // else it is no host that boxes run on
		for _, what := range l.Policy.Unmeasured(load) {
			c.Notes = append(c.Notes, config.UnmeasuredNote(what))
		}
	}
	return c, nil
}

// only are the settings whose keys begin with one of some words.
func only(list []api.Setting, words []string) []api.Setting {
	if len(words) == 0 {
		return list
	}
	kept := []api.Setting{}
	for _, s := range list {
		for _, word := range words {
			if s.Key == word || strings.HasPrefix(s.Key, strings.TrimSuffix(word, ".")+".") {
				kept = append(kept, s)
				break
			}
		}
	}
	return kept
}

func draw(a *app.App, c api.Configuration, origin bool) error {
	head := "KEY\tVALUE"
	if origin {
		head += "\tFROM"
	}
	err := a.Table(head, func(w io.Writer) {
		for _, s := range c.Settings {
			key, value := s.Key, terminal.OrWord(s.Value, "-")
			if s.File == string(config.OfProject) {
				key = "project: " + key
			}
			if s.Next != nil {
				value += " (" + terminal.OrWord(*s.Next, "-") + " from the next start of the daemon on)"
			}
			row(w, origin, key, value, s.Said, "")
			for _, b := range s.Below {
				if origin {
					row(w, origin, "", b.Value, b.Said, weaker(b.Binds))
				}
			}
		}
	})
	for _, note := range c.Notes {
		a.Say("note: %s", terminal.Printable(note))
	}
	if c.Refused != nil {
		a.Say("%s the last reload changed nothing: %s", a.Paint(terminal.Yellow, "warning:"), terminal.Printable(c.Refused.Why))
	}
	return err
}

func weaker(binds bool) string {
	if binds {
		return ", which binds: the tighter one counts"
	}
	return ", overruled"
}

func row(w io.Writer, origin bool, key, value string, said api.Said, more string) {
	fmt.Fprintf(w, "%s\t%s", terminal.Printable(key), terminal.Printable(value))
	if origin {
		fmt.Fprintf(w, "\t%s%s", terminal.Printable(from(said)), more)
	}
	fmt.Fprintln(w)
}

// from is who said something, with the line where that is in a file.
func from(s api.Said) string {
	switch {
	case s.From == "":
		return s.Origin
	case s.Line > 0:
		return s.From + ":" + strconv.Itoa(s.Line)
	}
	return s.From
}
