package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

// noFiles is a list for the shell that it adds no files to.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// completionPatience is how long somebody who pressed TAB waits.
const completionPatience = time.Second

// completeRefs offers the names of boxes and, from the @ on, those of a box's
// snapshots, up to most arguments; 0 is no limit.
func (a *app) completeRefs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, noFiles
		}
		if box, _, at := forkbox.SplitRef(word); at {
			return a.snapshotNames(cmd.Context(), box, box+"@"), noFiles
		}
		return a.completeBoxes(0)(cmd, nil, word)
	}
}

// completeBoxThenSnapshot offers a box, and then the names of its snapshots.
func (a *app) completeBoxThenSnapshot(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeBoxes(1)(cmd, args, word)
	case 1:
		return a.snapshotNames(cmd.Context(), args[0], ""), noFiles
	}
	return nil, noFiles
}

// completeBoxThenExec offers a box, and then the ids of its execs, the latest
// first.
func (a *app) completeBoxThenExec(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeBoxes(1)(cmd, args, word)
	}
	if len(args) > 1 {
		return nil, noFiles
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	list, err := a.shyClient().Execs(ctx, args[0])
	if err != nil {
		return nil, noFiles
	}
	var ids []string
	for _, e := range slices.Backward(list) {
		ids = append(ids, e.ID+"\t"+exitText(execExit(e))+": "+commandLine(e.Argv))
	}
	return ids, noFiles | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) snapshotNames(ctx context.Context, box, before string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	list, err := a.shyClient().Snapshots(ctx, box)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range list {
		names = append(names, strings.TrimSpace(before+s.Name+"\t"+ago(s.Created)+" "+messageText(s)))
	}
	return names
}

// completeTemplates offers the names of templates, up to most arguments.
func (a *app) completeTemplates(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		list, err := a.shyClient().Templates(ctx)
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for _, t := range list {
			names = append(names, t.Name+"\t"+ago(t.Created)+", of "+t.From)
		}
		return names, noFiles
	}
}

// completeOrigins offers what --from takes.
func (a *app) completeOrigins(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(word, "@") {
		return a.completeRefs(0)(cmd, nil, word)
	}
	kinds := []string{"reality\tthis machine", "empty\tnothing", "oci:\tan image", "tar:\ta root filesystem", "dir:\ta directory"}
	boxes, _ := a.completeBoxes(0)(cmd, nil, word)
	for _, box := range boxes {
		name, about, _ := strings.Cut(box, "\t")
		kinds = append(kinds, name+"@\t"+about)
	}
	return kinds, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeOneFile offers files for the first argument and nothing after it.
func completeOneFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, noFiles
}

// completeDiff offers a box or a snapshot; then, once an @ is typed, the other
// side, and files otherwise.
func (a *app) completeDiff(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || len(args) == 1 && namesSnapshot(word) {
		return a.completeRefs(0)(cmd, nil, word)
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// boxLetters are those of the names and ids of boxes.
const boxLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// namesSnapshot says whether an argument is BOX@SNAPSHOT and not a path:
// node_modules/@types is one, and so is ./a@b.
func namesSnapshot(arg string) bool {
	box, snapshot, at := forkbox.SplitRef(arg)
	return at && box != "" && strings.Trim(box, boxLetters) == "" && !strings.Contains(snapshot, "/")
}
