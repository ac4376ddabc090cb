package config

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/config"
)

func validateVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE…]",
		Short: "Say every mistake in the configuration, with its line",
		Long: `Read the host's config.yaml, yours, the project's forkbox.yaml and the variables, or
the files that are named, and say everything that is wrong, each with its line and
with what may have been meant. It needs no daemon and changes nothing. A file that
is called forkbox.yaml is read as a project's, any other as a config.yaml. The exit
code is 125 when something is wrong.`,
		Example: `  forkbox config validate
  forkbox config validate ./config.yaml && sudo cp config.yaml /etc/forkbox/
  forkbox config validate --json | jq -r '.problems[] | "\(.from):\(.line): \(.why)"'`,
		RunE: func(_ *cobra.Command, args []string) error {
			v := config.Validate(options(), place.Here().Dir)
			if len(args) > 0 {
				v = config.Validation{Problems: []config.Problem{}}
				for _, file := range args {
					one := config.ValidateFile(file)
					v.Files, v.Problems = append(v.Files, one.Files...), append(v.Problems, one.Problems...)
				}
			}
			if a.JSON {
				if err := a.PrintJSON(v); err != nil {
					return err
				}
			} else {
				tell(a, v)
			}
			if len(v.Problems) > 0 {
				return terminal.ExitStatus(forkbox.Invalid.ExitCode())
			}
			return nil
		},
	}
}

// tell writes problems as compilers do, so that editors find the line.
func tell(a *app.App, v config.Validation) {
	wrong := map[string]bool{}
	for _, p := range v.Problems {
		wrong[p.From] = true
		at := p.From
		if p.Line > 0 {
			at += ":" + strconv.Itoa(p.Line)
		}
		fmt.Fprintf(a.Stdout, "%s: %s\n", terminal.Printable(at), terminal.Printable(p.Why))
		for _, hint := range p.Hints {
			fmt.Fprintf(a.Stdout, "  %s\n", terminal.Printable(hint))
		}
	}
	for _, f := range v.Files {
		switch {
		case wrong[f.Path]:
		case f.Found:
			fmt.Fprintf(a.Stdout, "%s: fine\n", terminal.Printable(f.Path))
		default:
			fmt.Fprintf(a.Stdout, "%s: is not there\n", terminal.Printable(f.Path))
		}
	}
}
