package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const page = "../../docs/CONFIG.md"

// TestPage: the tables of docs/CONFIG.md are those of the program. UPDATE_DOCS=1
// writes them.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, rows := range map[string]string{"config.yaml": keyRows(OfConfig), "forkbox.yaml": keyRows(OfProject), "variables": variableRows(false), "given": variableRows(true), "later": laterRows()} {
		want = between(t, want, name, rows)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Error("docs/CONFIG.md is not what the table says: UPDATE_DOCS=1 go test ./internal/config -run TestPage")
	}
}

// between puts rows between the marks of a table.
func between(t *testing.T, text, name, rows string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, ok := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/CONFIG.md has no place for %s", name)
	}
	return head + begin + rows + end + tail
}

func keyRows(of Of) string {
	rows := "| key | what it says | value | built in | above the files |\n|---|---|---|---|---|\n"
	if of == OfProject {
		rows = "| key | what it says | value | above the file |\n|---|---|---|---|\n"
	}
	for _, k := range Keys() {
		if k.Of != of {
			continue
		}
		value := k.Kind.Word
		if k.Kind.Example != "" && !strings.HasPrefix(value, "one of") && value != "true or false" {
			value += ": " + code(k.Kind.Example)
		}
		var above []string
		for _, name := range []string{k.Env, k.Flag} {
			if name != "" {
				above = append(above, code(name))
			}
		}
		cells := []string{code(k.Name), k.Doc, value}
		if of == OfConfig {
			cells = append(cells, code(k.Default()))
		}
		rows += "| " + strings.Join(append(cells, strings.Join(above, ", ")), " | ") + " |\n"
	}
	return rows
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func variableRows(given bool) string {
	rows := "| variable | key | what it says |\n|---|---|---|\n"
	if given {
		rows = "| variable | what it says |\n|---|---|\n"
	}
	for _, v := range Variables() {
		switch {
		case v.Given != given:
		case given:
			rows += fmt.Sprintf("| %s | %s |\n", code(v.Name), v.Doc)
		default:
			rows += fmt.Sprintf("| %s | %s | %s |\n", code(v.Name), code(v.Key), v.Doc)
		}
	}
	return rows
}

// laterRows are the keys that a reload does not change.
func laterRows() string {
	rows := ""
	for _, k := range Keys() {
		if !k.Live {
			rows += "- " + code(k.Name) + "\n"
		}
	}
	return rows
}
