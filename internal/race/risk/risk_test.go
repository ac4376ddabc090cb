package risk

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

func modified(p string) forkbox.Change {
	return forkbox.Change{Path: p, Kind: forkbox.Modified, Type: "file", Scope: forkbox.Workspace, Mode: 0o644, OldMode: 0o644}
}

// whys are the notes on one change in the workspace /test/w.
func whys(c forkbox.Change) (list []string) {
	n := Notes{Root: "/test/w"}
	n.Add(c)
	for _, note := range n.List() {
		if note.Path != c.Path {
			list = append(list, "of "+note.Path)
		}
		list = append(list, note.Why)
	}
	return list
}

func TestByName(t *testing.T) {
	for want, names := range map[string][]string{
		"changes an environment file, which may hold secrets": {".env", "sub/.env.local", "prod.env"},
		"changes what looks like a key":                       {"id_rsa", "certs/server.key", "a.PEM", "x.p12"},
		"changes a certificate":                               {"ca.crt"},
		"changes what usually holds credentials":              {".netrc", "config/secrets.yml", "terraform.tfstate"},
		"changes a place of credentials":                      {".aws/config", "home/.ssh/config"},
		"changes a lock file":                                 {"package-lock.json", "go.sum", "sub/Cargo.lock", "poetry.lock", "Gemfile.lock", "yarn.lock", "pnpm-lock.yaml", "uv.lock", "composer.lock", "flake.lock"},
		"changes what names dependencies":                     {"package.json", "go.mod", "requirements-dev.txt", "pyproject.toml", "App.csproj", "pom.xml"},
		"changes where packages come from":                    {".npmrc", ".cargo/config.toml", "gradle/wrapper/gradle-wrapper.properties"},
		"changes CI configuration":                            {".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", ".circleci/config.yml"},
		"changes what decides who and what checks a change":   {".github/CODEOWNERS"},
		"changes a git hook":                                  {".git/hooks/pre-commit", ".husky/pre-push", ".pre-commit-config.yaml"},
		"changes git configuration":                           {".git/config", ".gitattributes"},
		"changes what containers are built or run from":       {"Dockerfile", "build/Dockerfile.dev", "compose.yaml"},
		"changes what runs in a build":                        {"Makefile", "CMakeLists.txt", "build.rs", "vite.config.ts"},
		"changes a test":                                      {"a_test.go", "tests/x.txt", "src/test_x.py", "src/a.test.ts", "FooTest.java", "spec/a_spec.rb", "x.bats", "t/basic.t", "__snapshots__/a.snap", "pkg/testdata/in", "test.sh", "run-tests.sh", "ci/run_tests", "runtests.bat"},
		"changes what decides which tests run, and how":       {"pytest.ini", "jest.config.js", "conftest.py"},
		"changes instructions to agents":                      {"CLAUDE.md", ".cursor/rules/x.mdc"},
		"changes what tools act upon by its being there":      {".envrc", ".vscode/tasks.json"},
		"changes third-party code":                            {"vendor/x/y_test.go", "node_modules/a/package.json"},
	} {
		for _, name := range names {
			if got := whys(modified("/test/w/" + name)); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q, not %q", name, got, want)
			}
		}
	}
}

func TestNothingToSay(t *testing.T) {
	for _, name := range []string{"main.go", "src/latest.go", "Contest.java", "Latest.cs", ".env.example", "keys.go", "environment.ts", "lock.go", "contest/a.py", "docs/testing.md", ".git/hooks/pre-commit.sample", "a.t", "requirements.md", "attestation", "latest.sh", "contest", "testimony.sh"} {
		if got := whys(modified("/test/w/" + name)); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	added := modified("/test/w/a_test.go")
	if added.Kind = forkbox.Added; whys(added) != nil {
		t.Errorf("a new test: %q", whys(added))
	}
	dir := forkbox.Change{Path: "/test/w/vendor", Kind: forkbox.Added, Type: "dir"}
	if whys(dir) != nil {
		t.Errorf("a new directory: %q", whys(dir))
	}
}

func TestByNode(t *testing.T) {
	link := func(target string) []byte {
		return []byte("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+" + target + "\n\\ No newline at end of file\n")
	}
	const p = "/test/w/src/x"
	for _, c := range []struct {
		change forkbox.Change
		want   string
	}{
		{forkbox.Change{Kind: forkbox.Deleted, Path: "/test/w/a_test.go"}, "deletes a test"},
		{forkbox.Change{Kind: forkbox.Deleted, Type: "dir", Path: "/test/w/tests", Entries: 3}, "deletes a directory of tests"},
		{forkbox.Change{Kind: forkbox.Renamed, Path: "/test/w/x.go.off", From: "/test/w/x_test.go"}, "moves a test"},
		{forkbox.Change{Kind: forkbox.Renamed, Path: "/test/w/y_test.go", From: "/test/w/x_test.go"}, "moves a test"},
		{forkbox.Change{Kind: forkbox.Mode, Mode: 0o755, OldMode: 0o644}, "makes a file executable"},
		{forkbox.Change{Kind: forkbox.Modified, Mode: 0o755, OldMode: 0o755}, ""},
		{forkbox.Change{Kind: forkbox.Added, Mode: 0o755}, "adds an executable file"},
		{forkbox.Change{Kind: forkbox.Mode, Mode: fs.ModeSetuid | 0o755, OldMode: 0o755}, "has a file run with the rights of its owner or group"},
		{forkbox.Change{Kind: forkbox.Mode, Mode: fs.ModeSetuid | 0o755, OldMode: fs.ModeSetuid | 0o700}, ""},
		{forkbox.Change{Kind: forkbox.Added, Size: 6 << 20}, "adds a large file: 6.3 MB"},
		{forkbox.Change{Kind: forkbox.Added, Size: 2 << 20, Binary: true}, "adds a large file: 2.1 MB"},
		{forkbox.Change{Kind: forkbox.Modified, Size: 6 << 20, OldSize: 7 << 20}, ""},
		{forkbox.Change{Kind: forkbox.Added, Type: "fifo"}, "adds a special file (fifo)"},
		{forkbox.Change{Kind: forkbox.Added, Type: "symlink", Patch: link("/etc/passwd")}, "adds a symlink that leads out of the workspace"},
		{forkbox.Change{Kind: forkbox.Added, Type: "symlink", Patch: link("../../x")}, "adds a symlink that leads out of the workspace"},
		{forkbox.Change{Kind: forkbox.Added, Type: "symlink", Patch: link("../x")}, ""},
		{forkbox.Change{Kind: forkbox.Added, Type: "symlink"}, "adds a symlink: see where it leads"},
		{forkbox.Change{Kind: forkbox.Modified, Hidden: true}, "changes what the box was not shown"},
		{forkbox.Change{Kind: forkbox.Modified, Scope: forkbox.System, Path: "/usr/bin/test/package.json", Mode: 0o755}, "changes a path outside of the workspace"},
		{forkbox.Change{Kind: forkbox.Modified, Scope: forkbox.Noise, Path: "/test/w/.env"}, "changes an environment file, which may hold secrets"},
		{forkbox.Change{Kind: forkbox.Modified, Scope: forkbox.Noise, Path: "/test/w/node_modules/a/.env"}, ""},
		{forkbox.Change{Kind: forkbox.Modified, Scope: forkbox.Noise, Path: "/test/w/go.sum", Mode: 0o755}, ""},
	} {
		if c.change.Path == "" {
			c.change.Path = p
		}
		if c.change.Type == "" {
			c.change.Type = "file"
		}
		if got := strings.Join(whys(c.change), "; "); got != c.want {
			t.Errorf("%+v: %q, not %q", c.change, got, c.want)
		}
	}
}

// TestJudges: what the checks of a race name is a test of it.
func TestJudges(t *testing.T) {
	judges := []forkbox.Command{
		{Run: "set -e; cd web && X=1 ./judge.sh --in=data/in.txt | grep -q 'good enough.txt'"},
		{Argv: forkbox.Strings{"python3", "/w/tools/score.py"}}, {Run: "sh go", Dir: "sub"}, {Run: "go vet src ./..."},
	}
	const names = "changes what a check or metric of this race names"
	for p, want := range map[string]string{
		"/w/a/web/judge.sh": names, "/w/a/judge.sh": names, "/w/a/web/data/in.txt": names, "/w/a/good enough.txt": names, "/w/tools/score.py": names, "/w/a/sub/go": names,
		"/w/judge.sh": "", "/w/a/src/x.go": "", "/w/a/other.sh": "", "/w/a": "",
	} {
		if got := judged(judges, modified(p)); got != want {
			t.Errorf("%s: %q", p, got)
		}
	}
	gone := forkbox.Change{Path: "/w/tools", Kind: forkbox.Deleted, Type: "dir", Entries: 1, Scope: forkbox.Workspace}
	if got := judged(judges, gone); got != "deletes what a check or metric of this race names" {
		t.Errorf("the directory of one went: %q", got)
	}
	moved := forkbox.Change{Path: "/w/x.py", From: "/w/tools/score.py", Kind: forkbox.Renamed, Type: "file", Scope: forkbox.Workspace}
	if got := judged(judges, moved); got != "moves what a check or metric of this race names" {
		t.Errorf("one went elsewhere: %q", got)
	}
	// What lies in a directory that is named counts where it is a test.
	whole := []forkbox.Command{{Run: "pytest checks src"}}
	for p, want := range map[string]bool{"/w/a/checks/test_a.py": true, "/w/a/checks/deep/test_b.py": true, "/w/a/src/main.py": false} {
		if got := strings.Contains(judged(whole, modified(p)), names); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	added := modified("/w/a/judge.sh")
	if added.Kind = forkbox.Added; judged(judges, added) != "" {
		t.Errorf("one that was not there: %q", judged(judges, added))
	}
}

func judged(judges []forkbox.Command, c forkbox.Change) string {
	n := Notes{Root: "/w", Dir: "/w/a", Judges: judges}
	n.Add(c)
	var list []string
	for _, note := range n.List() {
		list = append(list, note.Why)
	}
	return strings.Join(list, "; ")
}

// TestFolded: of many alike some are shown and all are counted, and what
// matters most comes first.
func TestFolded(t *testing.T) {
	n := Notes{Root: "/w"}
	for i := range 1000 {
		n.Add(forkbox.Change{Path: fmt.Sprintf("/usr/lib/%03d", i), Kind: forkbox.Added, Type: "file", Scope: forkbox.System})
		n.Add(forkbox.Change{Path: fmt.Sprintf("/w/%03d_test.go", i), Kind: forkbox.Deleted, Type: "file", Scope: forkbox.Workspace})
	}
	n.Add(modified("/w/.env"))
	want := []forkbox.Caution{
		{Path: "/w/.env", Why: "changes an environment file, which may hold secrets"},
		{Path: "/w/000_test.go", Why: "deletes a test"},
		{Path: "/w/001_test.go", Why: "deletes a test"},
		{Path: "/w/002_test.go", Why: "deletes a test, and there are 997 more like it"},
		{Path: "/w/000_test.go", Why: "it deletes 1000 paths in all"},
		{Path: "/usr/lib/000", Why: "adds a path outside of the workspace"},
		{Path: "/usr/lib/001", Why: "adds a path outside of the workspace"},
		{Path: "/usr/lib/002", Why: "adds a path outside of the workspace, and there are 997 more like it"},
	}
	for range 2 { // a list can be asked for again
		if got := n.List(); !slices.Equal(got, want) {
			t.Fatalf("%+v", got)
		}
	}
}

// TestAnything: no change, whatever its path, is too much, and what is listed is
// bounded.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Notes{Root: rapid.SampledFrom([]string{"", "/", "/w"}).Draw(t, "root")}
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{".env", "a_test.go", "İTest.java", "\xffTest.cs", "go.sum", "", "."}))
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			n.Add(forkbox.Change{
				Path: rapid.SampledFrom([]string{"/w/", "/", "/w/test/", "/etc/"}).Draw(t, "dir") + name.Draw(t, "name"), From: name.Draw(t, "from"),
				Kind:  rapid.SampledFrom([]forkbox.Kind{forkbox.Added, forkbox.Modified, forkbox.Deleted, forkbox.Renamed, forkbox.Type, forkbox.Mode, ""}).Draw(t, "kind"),
				Scope: rapid.SampledFrom([]forkbox.Scope{forkbox.Workspace, forkbox.System, forkbox.Noise, ""}).Draw(t, "scope"),
				Type:  rapid.SampledFrom([]string{"file", "dir", "symlink", "fifo", ""}).Draw(t, "type"), Mode: fs.FileMode(rapid.Uint32().Draw(t, "mode")),
			})
		}
		if list := n.List(); len(list) > mostNotes {
			t.Fatalf("%d notes", len(list))
		}
	})
}
