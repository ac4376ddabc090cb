// Package limits has the verbs for what boxes may use, and do use.
package limits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func SetVerb(a *app.App) *cobra.Command {
	var limits flags.Limits
	cmd := &cobra.Command{
		Use:   "set [limits] BOX",
		Short: "Change the limits of a box",
		Long: `Change the limits of a box, also of one that runs: they hold at once. "unlimited"
lifts one. Limits that are not named stay as they are. Either all that is named
holds, or nothing has changed. What changed is printed.

--ttl counts from now on.`,
		Example: `  forkbox set try --memory 4g
  forkbox set --cpus unlimited --pids 1024 try
  forkbox set try --disk 10g && forkbox resume try`,
		Args:              app.Exactly(1, "a box: forkbox set BOX --memory 4g …"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wish := limits.Wish()
			wish.Ticket = ""
			switch {
			case limits.Effort == "strict":
				return errors.New("--limits strict is what a box begins with; what was accepted once stays so")
			case len(wish.Limits) == 0 && wish.Priority == "" && !wish.BestEffort:
				return errors.New("set needs a limit: forkbox set BOX --memory 4g …")
			}
			return set(cmd.Context(), a, args[0], wish)
		},
	}
	limits.AddForBox(cmd)
	return cmd
}

func set(ctx context.Context, a *app.App, ref string, wish forkbox.Wish) error {
	c := a.Client()
	defer c.Close()
	was, err := c.Box(ctx, ref)
	if err != nil {
		return err
	}
	now, err := c.Set(ctx, was.ID, wish)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(now)
	}
	changed := changedLimits(was, now)
	if len(changed) == 0 {
		a.Say("%s had these limits already", now.Name)
		return nil
	}
	return a.Table("", func(w io.Writer) {
		for _, line := range changed {
			fmt.Fprintln(w, line)
		}
	})
}

// changedLimits is what is not as it was, a line for each.
func changedLimits(was, now forkbox.Box) (lines []string) {
	for _, r := range forkbox.Resources {
		old, new := ruleText(was.Policy, r), ruleText(now.Policy, r)
		if old != new {
			lines = append(lines, fmt.Sprintf("%s\t%s → %s%s", r, old, new, howNote(now.Policy[r])))
		}
	}
	if old, new := priorityText(was.Priority), priorityText(now.Priority); old != new {
		lines = append(lines, fmt.Sprintf("priority\t%s → %s", old, new))
	}
	return lines
}

func ruleText(p forkbox.Policy, r forkbox.Resource) string {
	rule, has := p[r]
	if !has {
		return "unlimited"
	}
	return forkbox.FormatLimit(r, rule.Value)
}

func priorityText(p forkbox.Priority) string {
	return terminal.OrWord(string(p), string(forkbox.NormalPriority))
}

// howNote says where a limit is less than it sounds.
func howNote(rule forkbox.Rule) string {
	if rule.How == forkbox.Enforced || rule.How == "" || rule.Value == forkbox.Unlimited {
		return ""
	}
	return "  (" + describe.How(rule) + ")"
}

func ExtendVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "extend BOX TIME",
		Short: "Give a box more time",
		Long: `Have a box end later by TIME than it would: its --ttl counts on. One whose time is
up already gets TIME from now on, and can be used again.`,
		Example:           "  forkbox extend try 30m\n  forkbox extend try 1d",
		Args:              app.Exactly(2, "a box and a time: forkbox extend BOX 30m"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := forkbox.ParseLimit(forkbox.TTL, args[1])
			if err == nil && by == forkbox.Unlimited {
				err = forkbox.Errorf(forkbox.Invalid, "extend box "+args[0], "%s is no time", args[1]).
					Hint("to let it live on: forkbox set %s --ttl unlimited", args[0])
			}
			if err != nil {
				return err
			}
			box, err := a.Client().Extend(cmd.Context(), args[0], time.Duration(by))
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(box)
			}
			a.Say("%s %s", box.Name, describe.Ends(box.Ends))
			return nil
		},
	}
}
