package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// What follows knows names. Each says what kind of thing a path is and how to
// call it, or nothing.

// secret: what holds credentials, by its usual names.
func secret(p place) (kind, string) {
	switch {
	case p.named(".env", ".env.*", "*.env") && !p.named("*.example", "*.sample", "*.template", "*.dist", "*.defaults"):
		return secrets, "an environment file, which may hold secrets"
	case p.in(".ssh", ".gnupg", ".aws", ".kube", ".azure") || p.under(".docker/config.json") || p.under(".config/gcloud"):
		return secrets, "a place of credentials"
	case p.named("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg", "authorized_keys*", "known_hosts*"):
		return secrets, "what looks like a key"
	case p.named("*.crt", "*.cer", "*.der", "*.p7b"):
		return secrets, "a certificate"
	case p.named(".netrc", "_netrc", ".pgpass", ".pypirc", ".htpasswd", ".git-credentials", "credentials", "credentials.json", "credentials.yml.enc",
		"secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "service-account*", "kubeconfig", "*.tfvars", "*.tfstate", ".vault-token", ".vault_pass*"):
		return secrets, "what usually holds credentials"
	}
	return 0, ""
}

// hook: what git runs by itself, or is told by.
func hook(p place) (kind, string) {
	switch {
	case p.under(".git/hooks") && !p.named("*.sample"), p.in(".husky", ".githooks"),
		p.named(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".overcommit.yml", ".lintstagedrc*"):
		return hooks, "a git hook"
	case p.under(".git/config"), p.named(".gitattributes", ".gitmodules", ".gitconfig"):
		return hooks, "git configuration"
	}
	return 0, ""
}

func pipeline(p place) (kind, string) {
	switch {
	case p.under(".github/workflows"), p.under(".github/actions"),
		p.in(".circleci", ".buildkite", ".woodpecker", ".teamcity", ".gitea", ".forgejo", ".semaphore", ".tekton"),
		p.named(".gitlab-ci*", "jenkinsfile*", "azure-pipelines*", ".travis.yml", ".drone.yml", ".drone.star", "bitbucket-pipelines.yml",
			"appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", ".cirrus.yml", "wercker.yml", "codefresh.yml"):
		return ci, "CI configuration"
	case p.named("codeowners"), p.under(".github/dependabot.yml"), p.named("renovate.json", ".renovaterc*", "codecov.yml", ".codecov.yml"):
		return ci, "what decides who and what checks a change"
	}
	return 0, ""
}

// package_: what is installed, and from where.
func package_(p place) (kind, string) {
	switch {
	case p.named("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
		"go.sum", "go.work.sum", "cargo.lock", "poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "pixi.lock", "conda-lock.yml", "gemfile.lock",
		"composer.lock", "mix.lock", "rebar.lock", "pubspec.lock", "podfile.lock", "cartfile.resolved", "package.resolved", "packages.lock.json",
		"paket.lock", "gradle.lockfile", "verification-metadata.xml", "flake.lock", "stack.yaml.lock", "cabal.project.freeze", "manifest.toml",
		"conan.lock", "module.bazel.lock", ".terraform.lock.hcl", "chart.lock"):
		return locks, "a lock file"
	case p.named("package.json", "deno.json", "deno.jsonc", "jsr.json", "go.mod", "go.work", "cargo.toml", "pyproject.toml", "requirements*.txt", "constraints*.txt",
		"setup.py", "setup.cfg", "pipfile", "environment.yml", "environment.yaml", "gemfile", "*.gemspec", "composer.json", "pom.xml", "build.gradle", "build.gradle.kts",
		"settings.gradle", "settings.gradle.kts", "libs.versions.toml", "*.csproj", "*.fsproj", "*.vbproj", "packages.config", "directory.packages.props",
		"mix.exs", "rebar.config", "pubspec.yaml", "podfile", "cartfile", "package.swift", "build.sbt", "project.clj", "deps.edn", "*.cabal", "stack.yaml",
		"project.toml", "vcpkg.json", "conanfile.txt", "conanfile.py", "flake.nix", "module.bazel", "chart.yaml", "elm.json"):
		return manifests, "what names dependencies"
	case p.named(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", "pip.ini", "nuget.config", "bunfig.toml", ".bundle", ".condarc"),
		p.under(".cargo/config"), p.under(".cargo/config.toml"), p.under(".mvn"), p.under("gradle/wrapper"):
		return sources, "where packages come from"
	}
	return 0, ""
}

// recipe: what runs in a build.
func recipe(p place) (kind, string) {
	switch {
	case p.named("dockerfile*", "*.dockerfile", "containerfile*", "docker-compose*", "compose.yaml", "compose.yml", ".dockerignore", "vagrantfile"), p.in(".devcontainer"):
		return recipes, "what containers are built or run from"
	case p.named("makefile", "gnumakefile", "makefile.*", "*.mk", "*.mak", "cmakelists.txt", "*.cmake", "meson.build", "configure", "configure.ac",
		"justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "rakefile", "build.rs", "build.zig", "build.xml", "build.bazel", "workspace.bazel",
		"sconstruct", "dodo.py", "noxfile.py", "tox.ini", "gulpfile*", "gruntfile*", "webpack.config*", "rollup.config*", "vite.config*", "esbuild.config*",
		"turbo.json", "nx.json", "lerna.json", "build.sh", "build.py", "build.js", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "magefile.go", "procfile"):
		return recipes, "what runs in a build"
	}
	return 0, ""
}

// agentFile: what agents and editors act upon when they next come by.
func agentFile(p place) (kind, string) {
	switch {
	case p.named("claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules", ".windsurfrules", ".mcp.json", "copilot-instructions.md", ".aider*"),
		p.in(".claude", ".cursor", ".codex", ".gemini"):
		return agents, "instructions to agents"
	case p.named(".envrc", ".tool-versions", ".nvmrc", ".mise.toml", "mise.toml", "forkbox.yaml"), p.in(".vscode", ".idea", ".zed"):
		return agents, "what tools act upon by its being there"
	}
	return 0, ""
}

// testSettings: which tests run, and how. An approach can pass by them as well.
func testSettings(p place) (kind, string) {
	if p.named("conftest.py", "pytest.ini", ".coveragerc", "jest.config*", "jest.setup*", "vitest.config*", "vitest.setup*", "karma.conf*", "playwright.config*",
		"cypress.config*", "cypress.json", ".mocharc*", ".nycrc*", "ava.config*", "phpunit.xml*", ".rspec", "spec_helper.rb", "rails_helper.rb", "test_helper.*",
		"testng.xml", "nextest.toml", "*.runsettings", "sitecustomize.py", "usercustomize.py") {
		return testConfig, "what decides which tests run, and how"
	}
	return 0, ""
}

// foreign: what was brought in, and is edited elsewhere.
func (p place) foreign() bool {
	return p.in("node_modules", "vendor", "third_party", "third-party", "site-packages", "bower_components", ".venv", "venv")
}

// isTest goes by the customs of many languages.
func isTest(p place) bool {
	if p.in("test", "tests", "__tests__", "__snapshots__", "testdata", "e2e") || p.named("test", "tests", "__tests__") {
		return true
	}
	stem, ext := p.base, ""
	if dot := strings.LastIndexByte(p.base, '.'); dot > 0 {
		stem, ext = p.base[:dot], p.base[dot+1:]
	}
	switch ext {
	case "go", "py", "rb", "exs", "ex", "dart", "cc", "cpp", "cxx", "c", "rs", "lua", "clj", "gd", "ml":
		return hasAny(stem, strings.HasSuffix, "_test", "_tests", "_spec", "_unittest") || hasAny(stem, strings.HasPrefix, "test_", "tests_") || stem == "tests" || stem == "test"
	case "js", "ts", "jsx", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte":
		return hasAny(stem, strings.HasSuffix, ".test", ".spec", "_test", "-test", ".e2e", ".cy") || p.in("spec", "specs")
	case "java", "kt", "kts", "cs", "fs", "php", "swift", "scala", "groovy", "m", "mm":
		name := strings.TrimSuffix(p.name, path.Ext(p.name)) // as it is written: "Latest" is no test
		return hasAny(name, strings.HasSuffix, "Test", "Tests", "Spec", "TestCase", "IT") || strings.HasPrefix(name, "Test")
	case "", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd":
		return isTestScript(stem)
	case "bats", "snap", "golden", "feature", "txtar":
		return true
	case "t":
		return p.in("t")
	}
	return false
}

// isTestScript: scripts that run tests are called by few names, and what ends
// with test as latest does is none.
func isTestScript(stem string) bool {
	switch stem {
	case "test", "tests", "runtest", "runtests", "testall":
		return true
	}
	return hasAny(stem, strings.HasSuffix, "-test", "-tests", "_test", "_tests") || hasAny(stem, strings.HasPrefix, "test-", "tests-", "test_", "tests_")
}

func hasAny(s string, has func(s, part string) bool, parts ...string) bool {
	for _, part := range parts {
		if has(s, part) {
			return true
		}
	}
	return false
}

// place is a path as rules look at it.
type place struct {
	rel  string   // below the workspace, without a slash first, in lower case
	base string   // the last name of it
	dirs []string // the others
	name string   // base as it is written
}

func (n *Notes) place(p string) place {
	rel := p
	if n.Root != "" && forkbox.Within(p, n.Root) {
		rel = p[len(strings.TrimSuffix(n.Root, "/")):]
	}
	rel = strings.TrimPrefix(rel, "/")
	names := strings.Split(strings.ToLower(rel), "/")
	last := len(names) - 1
	return place{rel: strings.ToLower(rel), base: names[last], dirs: names[:last], name: path.Base(rel)}
}

// in says whether one of the directories it lies in is called so.
func (p place) in(names ...string) bool {
	return slices.ContainsFunc(p.dirs, func(d string) bool { return slices.Contains(names, d) })
}

// under says whether it is dir, such as "a/b", or lies below one.
func (p place) under(dir string) bool { return strings.Contains("/"+p.rel+"/", "/"+dir+"/") }

// named says whether it has one of these names; a star stands for anything.
func (p place) named(patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(x string) bool {
		head, tail, star := strings.Cut(x, "*")
		if !star {
			return p.base == x
		}
		return len(p.base) >= len(head)+len(tail) && strings.HasPrefix(p.base, head) && strings.HasSuffix(p.base, tail)
	})
}
