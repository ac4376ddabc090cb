package forkbox_test

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestMapMatchesTheTree: docs/ARCHITECTURE.md has every package in its tree, and
// nothing there or in its table of tasks that does not exist.
func TestMapMatchesTheTree(t *testing.T) {
	page, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	onMap := mapped(t, string(page))
	out, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		dir := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(pkg), module), "/")
		inside := strings.HasPrefix(dir, "internal/")
		if inside && !onMap[dir] && !strings.HasSuffix(dir, "test") {
			t.Errorf("the tree lacks %s", dir)
		}
	}
	_, tasks, _ := strings.Cut(string(page), "## Where do I change")
	tasks, _, _ = strings.Cut(tasks, "\n## ")
	files := regexp.MustCompile("`([a-z_/]+/[a-z_]+\\.(?:go|yaml))`").FindAllStringSubmatch(tasks, -1)
	if len(files) < 10 {
		t.Errorf("the table of tasks names %d files", len(files))
	}
	for _, f := range files {
		if !exists(f[1]) && !exists("internal/"+f[1]) && !exists("internal/provider/"+f[1]) {
			t.Errorf("the table of tasks names %s", f[1])
		}
	}
}

// mapped are the directories of the tree, which it must be possible to find.
func mapped(t *testing.T, page string) map[string]bool {
	_, tree, _ := strings.Cut(page, "\nforkbox (root)")
	tree, _, _ = strings.Cut(tree, "```")
	known := map[string]bool{}
	above := map[int]string{}
	word := regexp.MustCompile(`(?:^|\s)((?:[a-z0-9]+/)+)`)
	for line := range strings.Lines(tree) {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		for i, found := range word.FindAllStringSubmatch(line, -1) {
			dir := path.Join(above[depth-2], found[1])
			if i > 0 && !exists(dir) { // named in what is said of the first
				dir = path.Join(above[depth], found[1])
			}
			if !exists(dir) {
				t.Errorf("the tree has %s, which is not there", dir)
			}
			known[dir] = true
			if i == 0 {
				above[depth] = dir
			}
		}
	}
	return known
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
