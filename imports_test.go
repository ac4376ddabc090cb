package forkbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/forkbox/forkbox"

// allowed is the shape of the program: who may import whom. Imports point
// inward, to the domain.
var allowed = map[string][]string{
	"":                          {},
	"/client":                   {"", "/internal/wire"},
	"/providertest":             {""},
	"/internal/wire":            {},
	"/internal/linux":           {},
	"/internal/nofile":          {},
	"/internal/seeded":          {},
	"/internal/secrets":         {""},
	"/internal/execlog":         {""},
	"/internal/layers":          {"", "/internal/linux", "/internal/quota"},
	"/internal/change":          {"", "/internal/linux"},
	"/internal/patch":           {""},
	"/internal/merge":           {"/internal/patch"},
	"/internal/scope":           {""},
	"/internal/git":             {""},
	"/internal/ancestor":        {"", "/internal/git"},
	"/internal/land":            {"", "/internal/linux"},
	"/internal/held":            {"", "/internal/linux"},
	"/internal/owned":           {},
	"/internal/review":          {"", "/internal/scope", "/internal/patch", "/internal/merge", "/internal/land"},
	"/internal/freezer":         {""},
	"/internal/cgroup":          {""},
	"/internal/hostload":        {""},
	"/internal/policy":          {"", "/internal/hostload", "/internal/netpolicy"},
	"/internal/quota":           {"", "/internal/linux"},
	"/internal/pool":            {"", "/internal/quota", "/internal/linux"},
	"/internal/oci":             {"", "/internal/linux"},
	"/internal/oci/registry":    {"", "/internal/oci"},
	"/internal/retention":       {""},
	"/internal/ledger":          {""},
	"/internal/records":         {""},
	"/internal/netpolicy":       {""},
	"/internal/registries":      {""},
	"/internal/egress":          {"", "/internal/netpolicy"},
	"/internal/intercept":       {""},
	"/internal/vault":           {""},
	"/internal/ingress":         {""},
	"/internal/gates":           {"", "/internal/netpolicy", "/internal/egress", "/internal/intercept", "/internal/vault", "/internal/registries"},
	"/internal/engine":          {"", "/internal/review", "/internal/change", "/internal/land", "/internal/held", "/internal/owned", "/internal/scope", "/internal/git", "/internal/ancestor", "/internal/retention"},
	"/internal/rank":            {""},
	"/internal/risk":            {"", "/internal/scope"},
	"/internal/racefile":        {""},
	"/internal/racepage":        {"", "/internal/patch"},
	"/internal/race":            {"", "/internal/engine", "/internal/rank", "/internal/risk"},
	"/internal/server":          {"", "/client", "/internal/engine", "/internal/wire"},
	"/internal/provider/native": {"", "/internal/linux", "/internal/nofile", "/internal/hostload", "/internal/wire", "/internal/layers", "/internal/change", "/internal/secrets", "/internal/execlog", "/internal/freezer", "/internal/cgroup", "/internal/pool", "/internal/oci"},
	"/cmd/forkbox":              {"*"},
	"/scripts/bench":            {"", "/client"},
	"/scripts/vm":               {"/scripts/vm/plan"},
	"/scripts/vm/init":          {"/scripts/vm/plan"},
	"/scripts/vm/plan":          {},
}

func TestImportsPointInward(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		check(t, strings.TrimPrefix(p.ImportPath, module), p.Imports)
	}
}

func check(t *testing.T, pkg string, imports []string) {
	may, known := allowed[pkg]
	if !known && !strings.HasSuffix(pkg, "test") {
		t.Errorf("%s has no line in the table of imports", pkg)
	}
	for _, path := range imports {
		inner, ours := strings.CutPrefix(path, module)
		switch {
		case ours && known && !slices.Contains(may, inner) && !slices.Contains(may, "*"):
			t.Errorf("%s imports %s", pkg, inner)
		case pkg == "" && strings.Contains(path, "."):
			t.Errorf("the domain imports %s; it may use only the standard library", path)
		}
	}
}

// Who draws test cases at random says that they be the same on every run.
func TestRandomTestsAreSeeded(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if slices.Contains(words, "pgregory.net/rapid") && !slices.Contains(words, module+"/internal/seeded") {
			t.Errorf("the tests of %s use rapid and do not import internal/seeded", words[0])
		}
	}
}
