//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/cli"
	"github.com/spf13/cobra"
)

// TestPagesNameWhatExists: every command in a console block of README.md and of
// docs/ is a verb of forkbox with flags that it has.
func TestPagesNameWhatExists(t *testing.T) {
	root := cli.Root()
	pages, err := filepath.Glob(filepath.Join(docsDir(t), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, filepath.Join(docsDir(t), "../README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range consoleSteps(string(text), true) {
			for _, words := range forkboxCalls(step.command) {
				checked++
				if wrong := wrongWord(root, words); wrong != "" {
					t.Errorf("%s: %q of: %s", filepath.Base(page), wrong, step.command)
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d commands were found", checked)
	}
}

var (
	quoted    = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	separator = regexp.MustCompile(`\s#.*|&&|\|\|?|;|\$\(|\)|<\(|\n`)
)

// forkboxCalls are the words of each call of forkbox in a line of shell, up to
// the command that is to run in a box. What is quoted counts as a word.
func forkboxCalls(line string) (calls [][]string) {
	line = strings.ReplaceAll(quoted.ReplaceAllString(line, "Q"), "\\\n", " ")
	for _, part := range separator.Split(line, -1) {
		words := strings.Fields(part)
		if len(words) < 2 || words[0] != "forkbox" {
			continue
		}
		for i, word := range words {
			if word == "--" {
				words = words[:i]
				break
			}
		}
		calls = append(calls, words[1:])
	}
	return calls
}

// wrongWord is the first that is no verb and no flag; "" where all are.
func wrongWord(root *cobra.Command, words []string) string {
	verb, _, err := root.Find(words)
	if err != nil || verb == root {
		return words[0]
	}
	verb.InitDefaultHelpFlag()
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(name, "--"):
			if verb.Flags().Lookup(name[2:]) == nil && verb.InheritedFlags().Lookup(name[2:]) == nil {
				return word
			}
		case strings.HasPrefix(name, "-") && len(name) > 1:
			if verb.Flags().ShorthandLookup(name[1:2]) == nil {
				return word
			}
		}
	}
	return ""
}
