package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testOnly are variables that tests and scripts tell each other things with.
var testOnly = regexp.MustCompile(`^FORKBOX_(TEST_.*|CGROUP_TEST_ROLE)$`)

// TestVariables: no variable is read or given that is not in the table, and none
// is in the table that the source does not know.
func TestVariables(t *testing.T) {
	inTable := map[string]bool{}
	for _, v := range Variables() {
		if inTable[v.Name] || len(v.Doc) < 10 {
			t.Errorf("%+v", v)
		}
		inTable[v.Name] = true
	}
	used := map[string]string{}
	variable := regexp.MustCompile(`\bFORKBOX_[A-Z0-9_]*[A-Z0-9]\b`)
	sources(t, func(path, text string) {
		ours := strings.Contains(path, filepath.Join("internal", "config"))
		for _, name := range variable.FindAllString(text, -1) {
			if testOnly.MatchString(name) {
				continue
			}
			if !inTable[name] {
				t.Errorf("%s has %s, which is not in the table: internal/config/variables.go, or a key's Env", path, name)
			}
			if !ours && strings.HasSuffix(path, ".go") {
				used[name] = path
			}
		}
	})
	for _, v := range Variables() {
		if v.Key == "" && used[v.Name] == "" && v.Name != configEnv {
			t.Errorf("%s is in the table, and nothing uses it", v.Name)
		}
	}
}

// sources are what is built, and the pages for users.
func sources(t *testing.T, each func(path, text string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "scripts", "tools", "decisions"}, name)):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go") || name == "CHANGELOG.md" || !slices.Contains([]string{".go", ".md"}, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		each(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
