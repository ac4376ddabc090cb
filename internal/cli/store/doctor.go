package store

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/secrets"
)

func DoctorVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can do, and what would help where it cannot",
		Long: `Try what forkbox needs on this host, for real, and say for each no what would help.
Also says how limits are held here, what boxes are kept in, what is hidden in a box,
and what else differs in one on this host, with the reason; and finds what a killed apply left in reality when the store with its receipt is
gone. Nothing is changed. The exit code is 125 when something fails.`,
		Example:           "  forkbox doctor\n  forkbox doctor --json | jq -r '.checks[] | select(.status==\"fail\").remedy'\n  forkbox doctor --json | jq -r '.differs[] | .what + \": \" + .why'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := examine(cmd.Context(), a)
			if a.JSON {
				if err := a.PrintJSON(found); err != nil {
					return err
				}
			} else if err := writeChecks(a, slices.Concat(found.Checks, strayChecks(found.Strays), deviationRows(found.Differs))); err != nil {
				return err
			}
			return verdict(found.Checks)
		},
	}
}

// examine asks the daemon. That there is none to ask is a finding too: doctor
// is what people run when nothing works.
func examine(ctx context.Context, a *app.App) api.CheckList {
	defer a.Progress("examining this host")()
	c := a.Client()
	dir, _ := os.Getwd() // without one there is less to look at
	found, err := c.Doctor(ctx, dir)
	reach := forkbox.Check{Name: "daemon", Status: forkbox.OK, Detail: "answers on " + cmp.Or(c.Host(), c.Socket())}
	if err != nil {
		reach.Status, reach.Detail = forkbox.Fail, err.Error()
		var e *forkbox.Error
		if errors.As(err, &e) {
			reach.Remedy = strings.Join(e.Hints, "\n")
		}
	}
	found.Checks = slices.Concat([]forkbox.Check{reach}, found.Checks, limitChecks(ctx, c), []forkbox.Check{hiddenVariables(os.Environ()), hiddenPlaces(os.Environ(), dir)})
	if found.Strays == nil {
		found.Strays = []forkbox.Stray{}
	}
	if found.Differs == nil {
		found.Differs = []forkbox.Deviation{}
	}
	return found
}

// deviationRows says what differs in a box, a line for each.
func deviationRows(list []forkbox.Deviation) (rows []forkbox.Check) {
	for _, d := range list {
		rows = append(rows, forkbox.Check{Name: "differs in a box", Status: forkbox.Info, Detail: fmt.Sprintf("%s: %s (%s)", d.What, d.Why, d.See)})
	}
	return rows
}

// hiddenVariables names those of the caller's that are not passed.
func hiddenVariables(env []string) forkbox.Check {
	c := forkbox.Check{Name: "hidden variables", Status: forkbox.Info, Detail: "none of yours looks like a credential"}
	if _, dropped := secrets.FilterEnv(env, nil); len(dropped) > 0 {
		c.Detail = strings.Join(dropped, " ")
		c.Remedy = "these are not passed to a box; pass one with --allow-secrets NAME"
	}
	return c
}

// hiddenPlaces are the secrets that variables of the caller's lead to, also
// where the home that the daemon knows is another. They are looked for here, with
// the caller's rights.
func hiddenPlaces(env []string, dir string) forkbox.Check {
	c := forkbox.Check{Name: "hidden by variables", Status: forkbox.Info, Detail: "none of yours leads to a known secret"}
	var paths []string
	for _, e := range secrets.Named(secrets.Places(env, "", dir, nil), []string{dir}) {
		if _, err := os.Lstat(e.Path); err == nil && !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) > 0 {
		c.Detail = strings.Join(paths, " ")
		c.Remedy = "HOME, KUBECONFIG and their like name these, so boxes made with them do not see them; open one with --allow-secrets PATH"
	}
	return c
}

func writeChecks(a *app.App, checks []forkbox.Check) error {
	marks := map[forkbox.Status]string{
		forkbox.OK:   terminal.PaintFor(a.Stdout, terminal.Green, "ok  "),
		forkbox.Warn: terminal.PaintFor(a.Stdout, terminal.Yellow, "warn"),
		forkbox.Fail: terminal.PaintFor(a.Stdout, terminal.Red, "fail"),
		forkbox.Info: "info",
	}
	return a.Table("", func(w io.Writer) {
		for _, c := range checks {
			fmt.Fprintf(w, "%s\t%s\t%s\n", marks[c.Status], c.Name, terminal.Printable(c.Detail))
			for line := range strings.Lines(c.Remedy) {
				fmt.Fprintf(w, "    \t\t%s\n", terminal.Printable(strings.TrimSpace(line)))
			}
		}
	})
}

func verdict(checks []forkbox.Check) error {
	for _, c := range checks {
		if c.Status == forkbox.Fail {
			return terminal.ExitStatus(forkbox.Unsupported.ExitCode())
		}
	}
	return nil
}

// limitChecks says how each limit is held on this host, and what boxes are kept
// in.
func limitChecks(ctx context.Context, c *client.Client) []forkbox.Check {
	holds, err := c.Holds(ctx)
	if err != nil {
		return nil // the daemon does not answer: that has been said already
	}
	checks := heldChecks(holds)
	store, err := c.Store(ctx)
	if err != nil {
		return checks // others than root and the daemon's user may not look
	}
	return append(checks, storeCheck(store))
}

// heldChecks has one line for all that is enforced, and one for each limit that
// is not.
func heldChecks(holds map[forkbox.Resource]forkbox.Holding) []forkbox.Check {
	var enforced []string
	var rest []forkbox.Check
	for _, r := range forkbox.Resources {
		// Those that the host is not asked about forkbox holds by itself.
		held, asked := holds[r]
		if !asked || held.How == forkbox.Enforced {
			enforced = append(enforced, string(r)+aside(held.Why))
			continue
		}
		rest = append(rest, forkbox.Check{
			Name: "limit " + string(r), Status: forkbox.Warn, Detail: holdingText(held), Remedy: held.Hint,
		})
	}
	all := forkbox.Check{Name: "limits", Status: forkbox.OK, Detail: "enforced: " + strings.Join(enforced, ", ")}
	return append([]forkbox.Check{all}, rest...)
}

func aside(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func storeCheck(s api.Store) forkbox.Check {
	detail := fmt.Sprintf("%s in %s; pool: %s", terminal.OrWord(s.Driver, "boxes"), s.Dir, poolText(s.Pool))
	return forkbox.Check{Name: "store", Status: forkbox.Info, Detail: detail}
}
