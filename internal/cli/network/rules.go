package network

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func netAllowVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "allow BOX RULE…",
		Short: "Let a box reach something",
		Long: `Let a box reach something, at once also one that runs. The rules come before those
that the box has, in the order in which they are given. Either all of them hold, or
nothing has changed. forkbox help net says what a rule looks like.`,
		Example: `  forkbox net allow try git.example.com:443
  forkbox net allow try '*.example.org' 10.0.0.0/8:5432
  forkbox net allow try 'GET,HEAD api.example.com/repos/**'`,
		Args:              app.Needs(2, "a box and a rule: forkbox net allow BOX RULE…"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addRules(cmd.Context(), a, "allow", args[0], args[1:])
		},
	}
}

func netDenyVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "deny BOX RULE…",
		Short: "Do not let a box reach something",
		Long: `Do not let a box reach something, at once also one that runs: connections that are
no longer allowed end. The rules come before those that the box has. Either all of
them hold, or nothing has changed.`,
		Example: `  forkbox net deny try tracker.example.com
  forkbox net deny try '*.example.org' any:192.0.2.0/24`,
		Args:              app.Needs(2, "a box and a rule: forkbox net deny BOX RULE…"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return addRules(cmd.Context(), a, "deny", args[0], args[1:])
		},
	}
}

func netRemoveVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "rm BOX RULE…",
		Aliases: []string{"remove"},
		Short:   "Take rules of a box away",
		Long: `Take rules away that were written for a box: with --allow, with --deny, or with
forkbox net allow and deny. Those of a project's file or a preset stay; a rule of
the box's own in front of them decides otherwise. With "allow" or "deny" before
RULE it is that one, without it is either. Either all of them go, or nothing has
changed.`,
		Example:           "  forkbox net rm try git.example.com:443\n  forkbox net rm try 'deny *.example.org'",
		Args:              app.Needs(2, "a box and a rule: forkbox net rm BOX RULE…"),
		ValidArgsFunction: a.CompleteBoxThenRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeRules(cmd.Context(), a, args[0], args[1:])
		},
	}
}

func addRules(ctx context.Context, a *app.App, word, ref string, targets []string) error {
	var change api.NetChange
	for _, target := range targets {
		rule, err := flags.ParseRule(word, target)
		if err != nil {
			return err
		}
		change.Add = append(change.Add, rule)
	}
	return changeRules(ctx, a, ref, change, change.Add)
}

func removeRules(ctx context.Context, a *app.App, ref string, texts []string) error {
	c := a.Client()
	defer c.Close()
	var wanted [][]string
	for _, text := range texts {
		spellings, err := eitherRule(text)
		if err != nil {
			return err
		}
		wanted = append(wanted, spellings)
	}
	doc, err := c.Net(ctx, ref)
	if err != nil {
		return err
	}
	var change api.NetChange
	for i, spellings := range wanted {
		own := ownRules(doc.Rules, spellings)
		if len(own) == 0 {
			own = texts[i : i+1] // the daemon says what is wrong with it
		}
		change.Remove = append(change.Remove, own...)
	}
	return changeRules(ctx, a, ref, change, change.Remove)
}

// eitherRule is what a rule may be called in a box's list: with the word before
// it that one, without either. The two can differ in more than the word, because
// each has its own way of writing.
func eitherRule(text string) (spellings []string, err error) {
	for _, word := range []string{"allow", "deny"} {
		if target, ok := strings.CutPrefix(text, word+" "); ok {
			rule, err := flags.ParseRule(word, target)
			return []string{rule}, err
		}
	}
	for _, word := range []string{"allow", "deny"} {
		rule, err := flags.ParseRule(word, text)
		if err != nil {
			return nil, err
		}
		spellings = append(spellings, rule)
	}
	return spellings, nil
}

// ownRules are those of a box's own that are called so.
func ownRules(rules []forkbox.NetRule, spellings []string) (own []string) {
	for _, r := range rules {
		if r.From == app.OwnRule && slices.Contains(spellings, r.Rule) && !slices.Contains(own, r.Rule) {
			own = append(own, r.Rule)
		}
	}
	return own
}

func changeRules(ctx context.Context, a *app.App, ref string, change api.NetChange, rules []string) error {
	box, err := a.Client().ChangeNet(ctx, ref, change)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(box)
	}
	verb := "now has"
	if len(change.Remove) > 0 {
		verb = "no longer has"
	}
	a.Say("%s %s: %s", box.Name, verb, terminal.Printable(strings.Join(rules, "; ")))
	return nil
}
