package main

import (
	"context"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func (a *app) raceDiffVerb() *cobra.Command {
	d := &differ{app: a}
	cmd := &cobra.Command{
		Use:   "diff [--stat|-p|--name-only] [--all] RACE APPROACH [APPROACH2] [PATH…]",
		Short: "Show what an approach did, or did that another did not",
		Long: `Show what an approach changed, as forkbox diff does. With APPROACH2 it is compared with
that one: what APPROACH did that APPROACH2 did not, or did otherwise. With PATH only
what is there or below is shown; write one that is called like an approach as ./PATH.

What checks and metrics wrote is not in it: an approach is what its steps left.`,
		Example: `  forkbox race diff fix patch
  forkbox race diff -p fix patch | git apply
  forkbox race diff --stat fix patch dep
  forkbox race diff fix patch --json | jq -r '.changes[].path'`,
		Args:              needs(2, "a race and an approach: forkbox race diff RACE APPROACH [APPROACH2] [PATH…]"),
		ValidArgsFunction: approaches{a}.completeTwo,
		RunE:              func(cmd *cobra.Command, args []string) error { return d.ofRace(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&d.patch, "patch", "p", false, "a patch in git's format")
	flags.BoolVar(&d.stat, "stat", false, "lines added and removed per path")
	flags.BoolVar(&d.nameOnly, "name-only", false, "paths only")
	flags.BoolVarP(&d.nul, "null", "z", false, "with --name-only: end names with NUL, quote nothing")
	flags.BoolVar(&d.all, "all", false, "system and noise too")
	flags.BoolVar(&d.noPager, "no-pager", false, "no pager")
	flags.BoolVar(&d.raw, "raw", false, "with -p: also to a terminal as in a pipe, control sequences and all")
	cmd.MarkFlagsMutuallyExclusive("name-only", "stat", "patch")
	return cmd
}

// ofRace tells a second approach from the first path.
func (d *differ) ofRace(ctx context.Context, args []string) error {
	race, err := d.client().GetRace(ctx, args[0])
	if err != nil {
		return err
	}
	one, err := entryWithBox(race, args[1])
	if err != nil {
		return err
	}
	rest := args[2:]
	if len(rest) > 0 && isApproach(race, rest[0]) {
		other, err := entryWithBox(race, rest[0])
		if err != nil {
			return err
		}
		d.against, rest = boxRef(other), rest[1:]
	} else if len(rest) > 0 && !d.json {
		d.tellPath(race, rest[0])
	}
	if race.Landed == one.Name && d.against == "" && !d.json {
		d.say("note: it has landed, so that reality has it as well: forkbox receipts %s", race.Receipt)
	}
	return orGone(d.run(ctx, boxRef(one), rest), race)
}

// tellPath says how a word was understood that could have been meant as an
// approach: it is called like nothing that is here.
func (d *differ) tellPath(race forkbox.Race, arg string) {
	if _, err := os.Lstat(arg); err != nil && !strings.ContainsAny(arg, "/.") {
		d.say("note: race %s has no approach %s: it is taken for a path", printable(race.Name), printable(arg))
	}
}

func isApproach(race forkbox.Race, name string) bool {
	_, err := findEntry(race, name)
	return err == nil
}
