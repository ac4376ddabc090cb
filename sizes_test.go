package forkbox_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package is what one can hold in mind, and a type has one job.
const (
	maxLines   = 5000 // of code: neither blank nor comment
	maxMethods = 60
)

// TestRoomsHaveOneJob counts the lines of every package and the methods of every
// type, tests aside.
func TestRoomsHaveOneJob(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return measure(path, lines, methods)
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, n := range lines {
		if n > maxLines {
			t.Errorf("%s has %d lines of code; more than %d are two rooms", pkg, n, maxLines)
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods; more than %d are two jobs", name, n, maxMethods)
		}
	}
}

// measure adds what a file has.
func measure(path string, lines, methods map[string]int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			lines[dir]++
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			methods[dir+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// receiver is the name of the type that a method is of.
func receiver(of ast.Expr) string {
	switch x := of.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}
