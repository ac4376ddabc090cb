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
	"":                                        {},
	"/api":                                    {""},
	"/client":                                 {"", "/api", "/internal/wire"},
	"/providertest":                           {"", "/internal/execstream"},
	"/internal/wire":                          {},
	"/internal/linux":                         {},
	"/internal/nofile":                        {},
	"/internal/seeded":                        {},
	"/internal/spelling":                      {},
	"/internal/holes":                         {},
	"/internal/secrets":                       {""},
	"/internal/execlog":                       {""},
	"/internal/execstream":                    {""},
	"/internal/storage/filecopy":              {"/internal/linux"},
	"/internal/storage/layers":                {"", "/internal/linux", "/internal/storage/filecopy", "/internal/storage/quota"},
	"/internal/storage/change":                {"", "/internal/linux"},
	"/internal/review/patch":                  {""},
	"/internal/review/merge":                  {"/internal/review/patch"},
	"/internal/review/scope":                  {""},
	"/internal/git":                           {""},
	"/internal/review/ancestor":               {"", "/internal/git"},
	"/internal/storage/land":                  {"", "/internal/linux", "/internal/storage/land/files", "/internal/storage/land/sums"},
	"/internal/storage/land/files":            {"", "/internal/linux"},
	"/internal/storage/land/sums":             {"", "/internal/storage/land/files"},
	"/internal/services":                      {"", "/internal/linux", "/internal/services/copying", "/internal/elsewhere", "/internal/services/containers", "/internal/services/containers/contained"},
	"/internal/elsewhere":                     {""},
	"/internal/services/containers":           {"", "/internal/elsewhere", "/internal/linux", "/internal/services/containers/contained"},
	"/internal/services/containers/contained": {},
	"/internal/services/copying":              {"", "/internal/freezer", "/internal/linux", "/internal/storage/filecopy"},
	"/internal/storage/held":                  {"", "/internal/elsewhere", "/internal/linux"},
	"/internal/review/owned":                  {},
	"/internal/review":                        {"", "/internal/review/scope", "/internal/review/patch", "/internal/review/merge", "/internal/storage/land", "/internal/storage/land/sums"},
	"/internal/freezer":                       {""},
	"/internal/cgroup":                        {""},
	"/internal/hostload":                      {""},
	"/internal/policy":                        {"", "/internal/hostload", "/internal/network/rules", "/internal/spelling", "/internal/strictyaml"},
	"/internal/storage/quota":                 {"", "/internal/linux"},
	"/internal/storage/pool":                  {"", "/internal/storage/quota", "/internal/linux"},
	"/internal/storage/oci":                   {"", "/internal/linux"},
	"/internal/storage/oci/registry":          {"", "/internal/storage/oci"},
	"/internal/retention":                     {""},
	"/internal/ledger":                        {"", "/internal/trace"},
	"/internal/storage/records":               {""},
	"/internal/network/rules":                 {""},
	"/internal/network/toolhosts":             {""},
	"/internal/network/gate":                  {"", "/internal/network/rules", "/internal/network/tlshello"},
	"/internal/network/intercept":             {"", "/internal/network/tlshello"},
	"/internal/network/vault":                 {""},
	"/internal/network/ingress":               {""},
	"/internal/network":                       {"", "/internal/network/rules", "/internal/network/gate", "/internal/network/intercept", "/internal/network/vault", "/internal/network/toolhosts"},
	"/internal/config":                        {"", "/api", "/internal/policy", "/internal/retention", "/internal/spelling", "/internal/strictyaml"},
	"/internal/engine":                        {"", "/internal/retention", "/internal/engine/core", "/internal/engine/network", "/internal/engine/limits", "/internal/engine/bases", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/execs", "/internal/engine/snapshots", "/internal/engine/changes", "/internal/engine/landing", "/internal/engine/forks", "/internal/engine/gc", "/internal/engine/files", "/internal/engine/services"},
	"/internal/provider/native/fileagent":     {"", "/internal/wire"},
	"/internal/boxfiles":                      {""},
	"/internal/boxfiles/agent":                {"", "/internal/boxfiles", "/internal/holes", "/internal/wire"},
	"/internal/engine/files":                  {"", "/internal/boxfiles", "/internal/engine/core", "/internal/engine/execs"},
	"/internal/cli/file":                      {"", "/api", "/client", "/internal/cli/app", "/internal/cli/terminal", "/internal/holes"},
	"/internal/race/rank":                     {""},
	"/internal/race/risk":                     {"", "/internal/review/scope"},
	"/internal/race/racefile":                 {"", "/internal/spelling", "/internal/strictyaml"},
	"/internal/race/page":                     {"", "/internal/review/patch"},
	"/internal/race":                          {"", "/internal/engine", "/internal/race/rank", "/internal/race/risk"},
	"/internal/access":                        {"", "/api"},
	"/internal/profiling":                     {""},
	"/internal/replay":                        {""},
	"/internal/operations":                    {""},
	"/internal/listen":                        {""},
	"/internal/trace":                         {},
	"/internal/metrics":                       {},
	"/internal/server":                        {"", "/api", "/internal/access", "/internal/profiling", "/internal/replay", "/internal/operations", "/internal/engine", "/internal/listen", "/internal/spelling", "/internal/strictjson", "/internal/wire", "/internal/boxfiles", "/internal/execstream", "/internal/trace", "/internal/server/docs"},
	"/internal/server/docs":                   {"/api"},
	"/internal/cli/access":                    {"", "/api", "/internal/cli/app", "/internal/cli/terminal", "/client", "/internal/cli/hosts"},
	"/internal/provider/native":               {"", "/internal/provider/native/boxinit", "/internal/linux", "/internal/nofile", "/internal/hostload", "/internal/wire", "/internal/storage/layers", "/internal/storage/change", "/internal/secrets", "/internal/services", "/internal/execlog", "/internal/freezer", "/internal/cgroup", "/internal/storage/pool", "/internal/storage/oci", "/internal/provider/native/fileagent", "/internal/provider/native/hostmounts", "/internal/execstream"},
	"/internal/provider/native/boxinit":       {"", "/internal/linux", "/internal/wire", "/internal/execlog", "/internal/boxfiles/agent", "/internal/execstream"},
	"/cmd/forkbox":                            {"/internal/cli", "/internal/provider/native/boxinit", "/internal/services/copying", "/internal/services/containers/contained"},
	"/scripts/bench":                          {"", "/api", "/client"},
	"/scripts/suite":                          {},
	"/scripts/vm":                             {"/scripts/vm/plan"},
	"/scripts/vm/init":                        {"/scripts/vm/plan"},
	"/scripts/vm/plan":                        {},
	"/scripts/recording":                      {},
	"/scripts/release":                        {},
	"/internal/engine/core":                   {"", "/internal/trace"},
	"/internal/engine/network":                {"", "/internal/engine/core", "/internal/spelling"},
	"/internal/engine/limits":                 {"", "/internal/engine/core", "/internal/engine/network", "/internal/trace"},
	"/internal/engine/bases":                  {"", "/internal/engine/core", "/internal/git", "/internal/review", "/internal/review/ancestor", "/internal/review/scope"},
	"/internal/engine/shelf":                  {"", "/internal/engine/core", "/internal/storage/land"},
	"/internal/engine/boxes":                  {"", "/internal/engine/core", "/internal/engine/network", "/internal/engine/limits", "/internal/engine/bases", "/internal/engine/shelf", "/internal/trace"},
	"/internal/engine/execs":                  {"", "/internal/engine/core", "/internal/engine/network", "/internal/engine/limits", "/internal/engine/boxes", "/internal/review", "/internal/trace"},
	"/internal/engine/snapshots":              {"", "/internal/engine/core", "/internal/engine/network", "/internal/engine/limits", "/internal/engine/shelf", "/internal/engine/boxes"},
	"/internal/engine/changes":                {"", "/internal/engine/core", "/internal/engine/bases", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/snapshots", "/internal/git", "/internal/review", "/internal/review/ancestor", "/internal/review/scope", "/internal/storage/change", "/internal/storage/land"},
	"/internal/engine/landing":                {"", "/internal/engine/core", "/internal/engine/bases", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/snapshots", "/internal/engine/changes", "/internal/git", "/internal/review", "/internal/review/owned", "/internal/review/scope", "/internal/storage/change", "/internal/storage/held", "/internal/storage/land", "/internal/trace"},
	"/internal/engine/forks":                  {"", "/internal/engine/core", "/internal/engine/network", "/internal/engine/limits", "/internal/engine/bases", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/snapshots", "/internal/engine/changes", "/internal/git", "/internal/review/ancestor", "/internal/trace"},
	"/internal/engine/services":               {"", "/internal/engine/core", "/internal/engine/network", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/execs", "/internal/engine/forks"},
	"/internal/engine/gc":                     {"", "/internal/engine/core", "/internal/engine/bases", "/internal/engine/shelf", "/internal/engine/boxes", "/internal/engine/changes", "/internal/engine/landing", "/internal/engine/forks", "/internal/engine/services", "/internal/retention", "/internal/review", "/internal/storage/land"},
	"/internal/strictjson":                    {"", "/internal/spelling"},
	"/internal/strictyaml":                    {},
	"/internal/network/tlshello":              {},
	"/internal/cli":                           {"", "/api", "/client", "/internal/cli/access", "/internal/cli/app", "/internal/cli/box", "/internal/cli/change", "/internal/cli/config", "/internal/cli/exec", "/internal/cli/limits", "/internal/cli/network", "/internal/cli/race", "/internal/cli/service", "/internal/cli/snapshot", "/internal/cli/store", "/internal/cli/terminal", "/internal/daemon", "/internal/cli/file"},
	"/internal/cli/app":                       {"", "/api", "/client", "/internal/cli/describe", "/internal/cli/place", "/internal/cli/terminal", "/internal/daemon/launch", "/internal/cli/hosts"},
	"/internal/cli/box":                       {"", "/api", "/client", "/internal/cli/app", "/internal/cli/describe", "/internal/cli/flags", "/internal/cli/terminal"},
	"/internal/cli/change":                    {"", "/api", "/client", "/internal/cli/app", "/internal/cli/describe", "/internal/cli/place", "/internal/cli/terminal", "/internal/review/patch", "/internal/review/scope"},
	"/internal/cli/service":                   {"", "/api", "/client", "/internal/cli/app", "/internal/cli/flags", "/internal/cli/terminal"},
	"/internal/cli/config":                    {"", "/api", "/internal/cli/app", "/internal/cli/place", "/internal/cli/terminal", "/internal/config", "/internal/hostload"},
	"/internal/cli/describe":                  {"", "/internal/cli/terminal"},
	"/internal/cli/exec":                      {"", "/api", "/client", "/internal/cli/app", "/internal/cli/change", "/internal/cli/describe", "/internal/cli/flags", "/internal/cli/place", "/internal/cli/stdio", "/internal/cli/terminal"},
	"/internal/cli/flags":                     {"", "/api", "/client", "/internal/cli/app", "/internal/cli/place", "/internal/cli/terminal", "/internal/network/rules", "/internal/network/toolhosts", "/internal/policy"},
	"/internal/cli/limits":                    {"", "/api", "/client", "/internal/cli/app", "/internal/cli/describe", "/internal/cli/flags", "/internal/cli/terminal"},
	"/internal/cli/network":                   {"", "/api", "/client", "/internal/cli/app", "/internal/cli/describe", "/internal/cli/flags", "/internal/cli/terminal", "/internal/network/rules"},
	"/internal/cli/place":                     {"", "/api", "/client", "/internal/cli/terminal"},
	"/internal/cli/race":                      {"", "/api", "/client", "/internal/cli/app", "/internal/cli/change", "/internal/cli/flags", "/internal/cli/place", "/internal/cli/terminal", "/internal/race/page", "/internal/race/racefile"},
	"/internal/cli/snapshot":                  {"", "/api", "/client", "/internal/cli/app", "/internal/cli/describe", "/internal/cli/flags", "/internal/cli/terminal", "/internal/daemon/launch", "/internal/storage/oci", "/internal/storage/oci/registry"},
	"/internal/cli/hosts":                     {"", "/client"},
	"/internal/cli/stdio":                     {"", "/api", "/client", "/internal/cli/terminal", "/internal/linux", "/internal/nofile"},
	"/internal/cli/store":                     {"", "/api", "/client", "/internal/cli/app", "/internal/cli/flags", "/internal/cli/terminal", "/internal/retention", "/internal/secrets"},
	"/internal/cli/terminal":                  {""},
	"/internal/daemon":                        {"", "/api", "/client", "/internal/access", "/internal/replay", "/internal/operations", "/internal/config", "/internal/daemon/launch", "/internal/engine", "/internal/execlog", "/internal/hostload", "/internal/ledger", "/internal/linux", "/internal/listen", "/internal/metrics", "/internal/network", "/internal/network/gate", "/internal/network/ingress", "/internal/network/rules", "/internal/network/toolhosts", "/internal/network/vault", "/internal/policy", "/internal/provider/native", "/internal/race", "/internal/retention", "/internal/secrets", "/internal/server", "/internal/services", "/internal/services/copying", "/internal/storage/layers", "/internal/storage/pool", "/internal/storage/records", "/internal/trace"},
	"/internal/daemon/launch":                 {"", "/api", "/client"},

	"/internal/provider/native/hostmounts": {"/internal/storage/pool"},
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
