package forkbox_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksLeadSomewhere: what a page of this repository links to in it is
// there, and a heading that it links to, too.
func TestLinksLeadSomewhere(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(page string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(page, ".md") {
			return err
		}
		text, err := os.ReadFile(page)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			found++
			checkLink(t, page, match[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 50 {
		t.Errorf("only %d links were found", found)
	}
}

func checkLink(t *testing.T, page, to string) {
	t.Helper()
	name, heading, _ := strings.Cut(to, "#")
	target := page
	if name != "" {
		target = filepath.Join(filepath.Dir(page), name)
	}
	if heading == "" {
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s links to %s: %v", page, to, err)
		}
		return
	}
	text, err := os.ReadFile(target)
	if err != nil {
		t.Errorf("%s links to %s: %v", page, to, err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") && anchor(line) == heading {
			return
		}
	}
	t.Errorf("%s links to %s: there is no such heading", page, to)
}

var noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor is what a heading is called in a link.
func anchor(heading string) string {
	words := strings.ToLower(strings.TrimSpace(strings.TrimLeft(heading, "#")))
	return strings.ReplaceAll(noAnchor.ReplaceAllString(words, ""), " ", "-")
}
