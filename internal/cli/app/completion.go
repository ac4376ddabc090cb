package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

// CompleteBoxes offers the names of boxes, up to most arguments; 0 is no limit.
func (a *App) CompleteBoxes(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		boxes, err := a.ShyClient().Boxes(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, box := range boxes {
			names = append(names, box.Name+"\t"+string(box.State)+", "+terminal.Ago(box.Created))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteBoxThenPaths offers boxes first, and then files as the shell does.
func (a *App) CompleteBoxThenPaths(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.CompleteBoxes(1)(cmd, args, word)
}

// CompleteReceipts offers ids of receipts, with what they are.
func (a *App) CompleteReceipts(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	receipts, err := a.ShyClient().Receipts(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, r := range receipts {
		ids = append(ids, fmt.Sprintf("%s\t%s of %s, %s", r.ID, terminal.Plural(r.Paths, "path"), r.BoxName, terminal.Ago(r.Created)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// CompleteNets offers the kinds of network, and the teams that there are.
func (a *App) CompleteNets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := []string{"none\tloopback only", "policy\twhat rules allow", "host\tshared with the host"}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	boxes, _ := a.ShyClient().Boxes(ctx)
	for _, box := range boxes {
		if word := forkbox.TeamPrefix + box.Network.Team + "\tteam"; box.Network.Team != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, NoFiles
}

// CompleteSecrets offers the names of secrets, up to most arguments; 0 is no
// limit.
func (a *App) CompleteSecrets(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
		defer cancel()
		list, err := a.ShyClient().Secrets(ctx)
		if err != nil {
			return nil, NoFiles
		}
		var names []string
		for _, s := range list {
			names = append(names, s.Name+"\tfor "+terminal.PrintableList(s.Hosts))
		}
		return names, NoFiles
	}
}

// CompleteBoxThenRules offers a box, and then those of its rules that can be
// taken away.
func (a *App) CompleteBoxThenRules(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.CompleteBoxes(1)(cmd, args, word)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	doc, err := a.ShyClient().Net(ctx, args[0])
	if err != nil {
		return nil, NoFiles
	}
	var rules []string
	for _, r := range doc.Rules {
		if r.From == OwnRule {
			rules = append(rules, r.Rule)
		}
	}
	return rules, NoFiles | cobra.ShellCompDirectiveKeepOrder
}

// OwnRule is who wrote a rule that was said for one box.
const OwnRule = "box"

// NoFiles is a list for the shell that it adds no files to.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// CompletionPatience is how long a user who pressed TAB waits.
const CompletionPatience = time.Second

// CompleteRefs offers the names of boxes and, from the @ on, those of a box's
// snapshots, up to most arguments; 0 is no limit.
func (a *App) CompleteRefs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, NoFiles
		}
		if box, _, at := forkbox.SplitRef(word); at {
			return a.snapshotNames(cmd.Context(), box, box+"@"), NoFiles
		}
		return a.CompleteBoxes(0)(cmd, nil, word)
	}
}

// CompleteBoxThenSnapshot offers a box, and then the names of its snapshots.
func (a *App) CompleteBoxThenSnapshot(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.CompleteBoxes(1)(cmd, args, word)
	case 1:
		return a.snapshotNames(cmd.Context(), args[0], ""), NoFiles
	}
	return nil, NoFiles
}

// CompleteBoxThenExec offers a box, and then the ids of its execs, the latest
// first.
func (a *App) CompleteBoxThenExec(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.CompleteBoxes(1)(cmd, args, word)
	}
	if len(args) > 1 {
		return nil, NoFiles
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	list, err := a.ShyClient().Execs(ctx, args[0])
	if err != nil {
		return nil, NoFiles
	}
	var ids []string
	for _, e := range slices.Backward(list) {
		ids = append(ids, e.ID+"\t"+describe.Exit(describe.ExecExit(e))+": "+terminal.CommandLine(e.Argv))
	}
	return ids, NoFiles | cobra.ShellCompDirectiveKeepOrder
}

func (a *App) snapshotNames(ctx context.Context, box, before string) []string {
	ctx, cancel := context.WithTimeout(ctx, CompletionPatience)
	defer cancel()
	list, err := a.ShyClient().Snapshots(ctx, box)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range list {
		names = append(names, strings.TrimSpace(before+s.Name+"\t"+terminal.Ago(s.Created)+" "+describe.Message(s)))
	}
	return names
}

// CompleteTemplates offers the names of templates, up to most arguments.
func (a *App) CompleteTemplates(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
		defer cancel()
		list, err := a.ShyClient().Templates(ctx)
		if err != nil {
			return nil, NoFiles
		}
		var names []string
		for _, t := range list {
			names = append(names, t.Name+"\t"+terminal.Ago(t.Created)+", of "+t.From)
		}
		return names, NoFiles
	}
}

// CompleteServices offers what --with takes.
func (a *App) CompleteServices(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionPatience)
	defer cancel()
	list, err := a.ShyClient().Services(ctx)
	if err != nil {
		return nil, NoFiles
	}
	names := []string{"all\tall that listen"}
	for _, s := range list.Services {
		names = append(names, s.Name+"\t"+s.Recipe+" of "+s.User)
	}
	return names, NoFiles
}

// CompleteOrigins offers what --from takes.
func (a *App) CompleteOrigins(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(word, "@") {
		return a.CompleteRefs(0)(cmd, nil, word)
	}
	kinds := []string{"reality\tthis machine", "empty\tnothing", "oci:\tan image", "tar:\ta root filesystem", "dir:\ta directory"}
	boxes, _ := a.CompleteBoxes(0)(cmd, nil, word)
	for _, box := range boxes {
		name, about, _ := strings.Cut(box, "\t")
		kinds = append(kinds, name+"@\t"+about)
	}
	return kinds, NoFiles | cobra.ShellCompDirectiveNoSpace
}

// CompleteOneFile offers files for the first argument and nothing after it.
func CompleteOneFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, NoFiles
}

// CompleteDiff offers a box or a snapshot; then, once an @ is typed, the other
// side, and files otherwise.
func (a *App) CompleteDiff(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || len(args) == 1 && NamesSnapshot(word) {
		return a.CompleteRefs(0)(cmd, nil, word)
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// BoxLetters are those of the names and ids of boxes.
const BoxLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// NamesSnapshot says whether an argument is BOX@SNAPSHOT and not a path:
// node_modules/@types is one, and so is ./a@b.
func NamesSnapshot(arg string) bool {
	box, snapshot, at := forkbox.SplitRef(arg)
	return at && box != "" && strings.Trim(box, BoxLetters) == "" && !strings.Contains(snapshot, "/")
}
