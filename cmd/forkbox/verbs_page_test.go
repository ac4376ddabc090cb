//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/cli"
	"github.com/spf13/cobra"
)

// TestVerbsPage: docs/VERBS.md lists what `forkbox help` lists. Where it no
// longer does, UPDATE_DOCS=1 writes the page anew.
func TestVerbsPage(t *testing.T) {
	const path = "../../docs/VERBS.md"
	want := verbsPage(cli.Root())
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if docsPage(t, "VERBS.md") != want {
		t.Error("docs/VERBS.md is not what forkbox help says; write it anew: UPDATE_DOCS=1 go test ./cmd/forkbox -run '^TestVerbsPage$'")
	}
}

const verbsHead = `# Verbs

What ` + "`forkbox help`" + ` lists, group by group. A test keeps this page the same as the program; the words are the program's own.

Every verb has ` + "`--json`" + ` and ` + "`--help`" + ` with examples. ` + "`source <(forkbox completion bash)`" + ` completes verbs, flags, boxes and
snapshots; zsh and fish are served as well. The whole manual is ` + "`forkbox man | man -l -`" + `.
`

// verbsPage is a table of each group, with the verbs below a verb after it.
func verbsPage(root *cobra.Command) string {
	var page strings.Builder
	page.WriteString(verbsHead)
	for _, group := range root.Groups() {
		fmt.Fprintf(&page, "\n## %s\n\n| verb | what it does |\n|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, verb := range root.Commands() {
			if verb.GroupID == group.ID && verb.IsAvailableCommand() {
				writeVerbRows(&page, verb)
			}
		}
	}
	return page.String()
}

func writeVerbRows(page *strings.Builder, verb *cobra.Command) {
	use := strings.TrimPrefix(verb.Parent().CommandPath()+" "+verb.Use, "forkbox ")
	fmt.Fprintf(page, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", `\|`), verb.Short)
	for _, below := range verb.Commands() {
		if below.IsAvailableCommand() {
			writeVerbRows(page, below)
		}
	}
}
