package forkbox_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestImportedModulesAreDirect: go.mod calls a module indirect when, and only
// when, nothing here imports it. `go mod tidy` sees to that where every module
// of every dependency's tests can be had, which is not everywhere.
func TestImportedModulesAreDirect(t *testing.T) {
	raw, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := strings.Fields(string(out))
	for _, m := range file.Require {
		imported := false
		for _, path := range imports {
			imported = imported || path == m.Path || strings.HasPrefix(path, m.Path+"/")
		}
		if imported == m.Indirect {
			t.Errorf("go.mod: %s is imported: %v, and marked as indirect: %v", m.Path, imported, m.Indirect)
		}
	}
}
