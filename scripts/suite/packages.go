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
	"slices"
	"strings"
	"sync"
)

// module is what the paths of all packages begin with.
const module = "github.com/forkbox/forkbox"

// kernel are the packages in which it matters who the user is: they touch the
// kernel, files of others, or terminals. They are tested as root and as an
// unprivileged user.
var kernel = []string{
	"cmd/forkbox",
	"internal/cgroup",
	"internal/cli/app",
	"internal/cli/flags",
	"internal/cli/place",
	"internal/cli/terminal",
	"internal/daemon",
	"internal/freezer",
	"internal/git",
	"internal/hostload",
	"internal/linux",
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

// longest are the other packages whose tests take longest, the longest first.
var longest = []string{"internal/provider/native", "internal/storage/land", "internal/storage/change", "internal/engine"}

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
		p.binary = s.path("bin", strings.ReplaceAll(p.rel(), "/", "-")+".test")
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errors.New("no package has tests and such a path")
	}
	return all, nil
}

// build makes the test binaries, two at a time: one links while another
// compiles.
func (s *suite) build(ctx context.Context, packages []pkg) error {
	if err := os.Mkdir(s.path("bin"), 0o755); err != nil {
		return err
	}
	goes := [][]string{{"build", "-o", s.path("test2json"), "cmd/test2json"}}
	for _, p := range packages {
		goes = append(goes, []string{"test", "-c", "-o", p.binary, p.path})
	}
	var mu sync.Mutex
	var failed []error
	var all sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, args := range goes {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Errorf("cannot run go %s: %w\n%s", strings.Join(args, " "), err, out))
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
