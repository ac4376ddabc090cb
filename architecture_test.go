package forkbox_test

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
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
	_, walks, _ := strings.Cut(tasks, "\n### ")
	checkWalks(t, walks)
	files := regexp.MustCompile("`([a-z_/]+/[a-z_]+\\.(?:go|yaml))`").FindAllStringSubmatch(tasks, -1)
	if len(files) < 10 {
		t.Errorf("the table of tasks names %d files", len(files))
	}
	for _, f := range files {
		if !existsShort(f[1]) {
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

// existsShort says whether a file exists that the page may name without its first
// directories.
func existsShort(name string) bool {
	return exists(name) || exists("internal/"+name) || exists("internal/provider/"+name)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// mostTouched is how many files that exist a stranger may have to touch for one of
// the usual tasks.
const mostTouched = 7

// checkWalks sees that each walk names as many files as it says, and not too many.
func checkWalks(t *testing.T, walks string) {
	t.Helper()
	rows := 0
	for line := range strings.Lines(walks) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| a") {
			continue
		}
		rows++
		for i, name := range strings.Split(cells[2]+cells[3], "`") {
			if i%2 == 1 && !existsShort(name) {
				t.Errorf("%s: there is no %s", cells[0], name)
			}
		}
		first, _, _ := strings.Cut(cells[2], ";")
		said, names, listed := strings.Cut(first, ": ")
		n, err := strconv.Atoi(said)
		if strings.HasPrefix(cells[2], "the same ") {
			n, err = strconv.Atoi(strings.TrimPrefix(said, "the same "))
		} else if named := strings.Count(names, "`") / 2; !listed || named != n {
			t.Errorf("%s: %s files, of which %d are named", cells[0], said, named)
		}
		if err != nil || n > mostTouched {
			t.Errorf("%s: %q files, %v; %d are the most", cells[0], said, err, mostTouched)
		}
	}
	if rows != 5 {
		t.Errorf("there are %d walks", rows)
	}
}
