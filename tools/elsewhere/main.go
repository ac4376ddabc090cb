// Command elsewhere vets the packages that other systems build, from their
// sources: `go vet` would compile everything that they import first, which takes a
// hundred times as long for each system.
//
//	go -C tools run ./elsewhere darwin/amd64 windows/amd64 linux/arm64
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// roots are what is shipped for every system; what they import of ours is vetted.
var roots = []string{"./cmd/forkbox", "./client"}

func main() {
	var failed error
	for _, target := range os.Args[1:] {
		if err := vet(target); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", target, err))
		}
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// vet looks at what a system builds, such as darwin/amd64.
func vet(target string) error {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return errors.New("is no SYSTEM/PROCESSOR")
	}
	top, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	names, err := list(top, env)
	if err != nil {
		return err
	}
	found, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax | packages.NeedModule,
		Dir:   top,
		Env:   env,
		Tests: true,
		ParseFile: func(fset *token.FileSet, file string, src []byte) (*ast.File, error) {
			return parse(fset, top, file, src)
		},
	}, names...)
	if err != nil {
		return err
	}
	// What go test makes of the tests of a package is not ours.
	found = slices.DeleteFunc(found, func(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") })
	if err := typeErrors(found); err != nil {
		return err
	}
	return analyze(found)
}

// list names our packages among what the roots consist of.
func list(top string, env []string) (names []string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}"}, roots...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = top, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// parse reads a file. Of what is not ours only the declarations matter, not what
// functions do.
func parse(fset *token.FileSet, top, file string, src []byte) (*ast.File, error) {
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if parsed != nil && !strings.HasPrefix(file, top+string(filepath.Separator)) {
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
	}
	return parsed, err
}

// typeErrors are those of our packages. Others have some because their functions
// have no bodies, and so use nothing of what they import.
func typeErrors(found []*packages.Package) error {
	var all error
	packages.Visit(found, nil, func(p *packages.Package) {
		if !ours(p) {
			return
		}
		for _, e := range p.Errors {
			all = errors.Join(all, e)
		}
		p.IllTyped = false // or all errors are told, and nothing is analysed
		for path, imported := range p.Imports {
			if !ours(imported) {
				delete(p.Imports, path) // not to be analysed
			}
		}
	})
	return all
}

func ours(p *packages.Package) bool { return p.Module != nil && p.Module.Main }

// analyze reports what the analyzers of go vet find.
func analyze(found []*packages.Package) error {
	graph, err := checker.Analyze(analyzers, found, nil)
	if err != nil {
		return err
	}
	var all error
	told := map[string]bool{} // a file is in its package and in that of its tests
	for _, root := range graph.Roots {
		if root.Err != nil {
			all = errors.Join(all, fmt.Errorf("%v: %w", root, root.Err))
		}
		for _, d := range root.Diagnostics {
			line := fmt.Sprintf("%s: %s", root.Package.Fset.Position(d.Pos), d.Message)
			if !told[line] {
				told[line] = true
				all = errors.Join(all, errors.New(line))
			}
		}
	}
	return all
}
