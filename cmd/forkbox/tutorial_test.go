//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTutorial types docs/TUTORIAL.md into a shell, from the first command to
// the last, and compares what each one prints.
func TestTutorial(t *testing.T) {
	t.Parallel()
	typePage(t, "TUTORIAL.md", docsPage(t, "TUTORIAL.md"), 40)
}

// typePage types the commands of a page into a shell, of which there are at least
// so many, and compares what each one prints.
func typePage(t *testing.T, name, page string, least int) {
	t.Helper()
	steps := consoleSteps(page, os.Geteuid() == 0)
	if len(steps) < least {
		t.Fatalf("only %d commands were found", len(steps))
	}
	w := newWorld(t)
	w.configure(calm)
	user := personDir(t)
	printed := typeSteps(t, steps, append(append(homeEnv(w.home), w.env...), "HOME="+user)...)
	for i, step := range steps {
		got := strings.ReplaceAll(printed[i], user, "/home/you")
		if !samePrinted(step.prints, got) {
			t.Fatalf("$ %s\nprints\n%s\nand docs/%s says\n%s\n%s", step.command, got, name, step.prints, w.log())
		}
	}
}

// personDir is the reader's home directory. It is not below the directory of
// temporary files: what a box changes there is noise.
func personDir(t *testing.T) string {
	t.Helper()
	above, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(above, "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// docsDir is two directories up, or one where a test binary runs on its own.
func docsDir(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"../../docs", "../docs"} {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	t.Fatal("docs/ is not beside the test")
	return ""
}

func docsPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(docsDir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// consoleStep is a command of a page and what the page says it prints.
type consoleStep struct{ command, prints string }

// rootOnly stands before a block that only root can follow.
const rootOnly = "<!-- as root -->"

// consoleSteps reads the blocks of a page that are marked console. In them "$ "
// begins a command and "> " goes on with it.
func consoleSteps(page string, root bool) (steps []consoleStep) {
	inside, above := false, ""
	for line := range strings.Lines(page) {
		text := strings.TrimSuffix(line, "\n")
		last := len(steps) - 1
		switch {
		case text == "```console":
			inside = root || above != rootOnly
		case text == "```":
			inside = false
		case inside && strings.HasPrefix(text, "$ "):
			steps = append(steps, consoleStep{command: text[2:]})
		case inside && last >= 0 && strings.HasPrefix(text, "> "):
			steps[last].command += "\n" + text[2:]
		case inside && last >= 0:
			steps[last].prints += line
		}
		above = text
	}
	return steps
}

// typeSteps runs commands in one shell, so that cd and $? mean what they mean
// to a reader, and returns what each of them printed.
func typeSteps(t *testing.T, steps []consoleStep, env ...string) []string {
	t.Helper()
	const mark = "\x1e" // the record separator, which nothing else prints
	var script strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&script, "%s\nset -- $?; printf '\\036'; (exit $1)\n", step.command)
	}
	cmd := exec.Command("sh", "-c", script.String())
	cmd.Env = append(os.Environ(), env...)
	out, err := os.CreateTemp(t.TempDir(), "printed") // no pipe: a daemon that stays would hold it open
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	runErr := cmd.Run()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(string(text), mark)
	if len(printed) != len(steps)+1 {
		t.Fatalf("%d of %d commands ran: %v\n%s", len(printed)-1, len(steps), runErr, text)
	}
	return printed
}

// variable is what differs from one run to the next, and the word that stands
// for it. Columns become as wide as their values, so spaces count as one.
var variable = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`\[\d+/\w+/\d+ [\d:]+\]`), "[TIME]"},
	{regexp.MustCompile(`\.localhost:\d+`), ".localhost:PORT"},
	{regexp.MustCompile(`\b(now|\d+(\.\d+)?(ms|s|m|h) ago)\b`), "WHEN"},
	{regexp.MustCompile(`\bpeak [\d.]+[kmg]\b`), "peak SIZE"},
	{regexp.MustCompile(`(?m)\b(\d+m)?\d+(\.\d+)?(ms|s)(  |$)`), "FIGURE  "},
	{regexp.MustCompile(`\b\d+(\.\d+)?[kmg]  `), "FIGURE  "},
	{regexp.MustCompile(`  -  `), "  FIGURE  "},               // too little to measure
	{regexp.MustCompile(`\((running|stopped), `), "(STATE, "}, // an idle box goes to rest when it likes
	{regexp.MustCompile(`  (running|stopped)  `), "  STATE  "},
	{regexp.MustCompile(` +`), " "},
}

// samePrinted compares a page's lines with those that were printed. A line that
// is just "…" stands for any number of them.
func samePrinted(page, printed string) bool {
	return matchLines(settledLines(page), settledLines(printed))
}

func settledLines(text string) []string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.word)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

func matchLines(page, printed []string) bool {
	switch {
	case len(page) == 0:
		return len(printed) == 0
	case page[0] == "…":
		return matchLines(page[1:], printed) || len(printed) > 0 && matchLines(page, printed[1:])
	default:
		return len(printed) > 0 && page[0] == printed[0] && matchLines(page[1:], printed[1:])
	}
}
