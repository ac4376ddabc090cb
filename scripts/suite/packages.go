//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is what the paths of all packages begin with.
const module = "github.com/forkbox/forkbox"

// kernel are the packages in which it matters who the user is: they touch the
// kernel, files of others, or terminals. They are tested as root and as an
// unprivileged user.
var kernel = []string{
	"cmd/forkbox",
	"internal/boxfiles/agent",
	"internal/cgroup",
	"internal/cli/app",
	"internal/cli/flags",
	"internal/cli/hosts",
	"internal/cli/place",
	"internal/cli/terminal",
	"internal/daemon",
	"internal/freezer",
	"internal/git",
	"internal/hostload",
	"internal/linux",
	"internal/listen",
	"internal/network",
	"internal/network/gate",
	"internal/network/ingress",
	"internal/network/intercept",
	"internal/network/toolhosts",
	"internal/network/vault",
	"internal/provider/native",
	"internal/race",
	"internal/review",
	"internal/review/ancestor",
	"internal/storage/change",
	"internal/services",
	"internal/storage/held",
	"internal/storage/land",
	"internal/storage/layers",
	"internal/storage/oci",
	"internal/storage/oci/registry",
	"internal/storage/pool",
	"internal/storage/quota",
}

// program is the package whose tests are of the whole program.
const program = "cmd/forkbox"

// indifferent are tests of the program that root runs alone: who the user is cannot
// matter to what they are about, and they take long. What they use of boxes is in
// tests that both run.
var indifferent = []string{
	// How a request travels, once it is known whose it is.
	"TestScriptsOverTCP", "TestScriptsOverAWebSocket", "TestExecConforms", "TestExecSurvivesLostConnections", "TestManyTerminals",
	"TestHoldRequests", "TestHoldStreams", "TestHoldTerminals", "TestHoldLoad",
	// What a race decides, and that it goes on after a crash: it calls the engine's verbs.
	"TestExamples", "TestRaceOfAHundred", "TestRaceSeed", "TestRaceCrash", "TestRaceCrashAnywhere", "TestRaceProtectsTheCheck",
	// What a diff or a merge of many files takes of memory.
	"TestMemoryDoesNotGrowWithTheChanges", "TestMemoryDoesNotGrowWithWhatIsMerged",
}

// longest are the packages whose tests take longest, the longest first.
var longest = []string{program, "internal/provider/native", "internal/storage/land", "internal/storage/change", "internal/engine"}

// pkg is a package that has tests.
type pkg struct {
	path, dir string
	binary    string // its test binary
}

// rel is the package's path below the module's.
func (p pkg) rel() string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/"), ".")
}

// packages lists those with tests that the flags leave.
func (s *suite) packages(ctx context.Context) ([]pkg, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages: %w", err)
	}
	var all []pkg
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		path, dir, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue
		}
		p := pkg{path: path, dir: dir}
		if s.fast && slices.Contains(kernel, p.rel()) || !strings.Contains(p.rel(), s.only) {
			continue
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errors.New("no package has tests and such a path")
	}
	return all, nil
}

// build makes the test binaries. One go command makes many of them, and so
// looks at what they share once; it names them after their packages, so that
// packages with the same last name are not for the same command.
func (s *suite) build(ctx context.Context, packages []pkg) error {
	if _, err := output(ctx, "go", "build", "-o", s.path("test2json"), "cmd/test2json"); err != nil {
		return err
	}
	for i, round := range apart(packages) {
		dir := s.path("bin", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// Nothing here reads symbols, which take as long to link as all the rest.
		args := []string{"test", "-c", "-ldflags=-s -w", "-o", dir + "/"}
		for _, p := range round {
			args = append(args, p.path)
			p.binary = filepath.Join(dir, path.Base(p.path)+".test")
		}
		if _, err := output(ctx, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

// apart sorts packages into rounds in each of which every last name is there
// once.
func apart(packages []pkg) (rounds [][]*pkg) {
	seen := map[string]int{}
	for i := range packages {
		p := &packages[i]
		n := seen[path.Base(p.path)]
		seen[path.Base(p.path)]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], p)
	}
	return rounds
}
