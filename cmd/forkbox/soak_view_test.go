//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// view is what one side shows of the workspace: each path with its kind, a
// directory's mode, a link's target and a file's lines. Lines are unique, so they
// tell whose bytes are where.
type view map[string]entry

type entry struct {
	kind  string // as find -printf %y: d, f, l
	lines string // a file's content, where a link leads, or a directory's mode
}

type lines map[string]bool

// lines are all that are in any file of the view.
func (v view) lines() lines {
	all := lines{}
	for _, e := range v {
		if e.kind != "f" {
			continue
		}
		for line := range strings.Lines(e.lines) {
			all[strings.TrimSpace(line)] = true
		}
	}
	return all
}

// paths lists those of a kind, in order: a history is made from them.
func (v view) paths(kind string) []string {
	var all []string
	for _, p := range slices.Sorted(maps.Keys(v)) {
		if v[p].kind == kind {
			all = append(all, p)
		}
	}
	return all
}

// differing lists the paths in which two views differ.
func differing(a, b view) []string {
	var all []string
	for p, e := range a {
		if b[p] != e {
			all = append(all, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// without is what the first has and none of the others.
func (l lines) without(others ...lines) lines {
	left := lines{}
	for line := range l {
		if !slices.ContainsFunc(others, func(o lines) bool { return o[line] }) {
			left[line] = true
		}
	}
	return left
}

func (l lines) add(more lines) { maps.Copy(l, more) }

func (l lines) drop(some lines) {
	maps.DeleteFunc(l, func(line string, _ bool) bool { return some[line] })
}

func (l lines) keep(some lines) {
	maps.DeleteFunc(l, func(line string, _ bool) bool { return !some[line] })
}

func (l lines) String() string { return strings.Join(slices.Sorted(maps.Keys(l)), " ") }

// related says whether one of the paths is the other, or above it.
func related(p, q string) bool {
	return p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/")
}

// viewOf reads a tree of reality.
func viewOf(root string) (view, error) {
	all := view{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, e := strings.TrimPrefix(path, root+"/"), entry{kind: "f"}
		switch {
		case d.IsDir():
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				e = entry{kind: "d", lines: fmt.Sprintf("%o", info.Mode().Perm())}
			}
		case d.Type() == fs.ModeSymlink:
			e.kind = "l"
			e.lines, err = os.Readlink(path)
		default:
			var content []byte
			content, err = os.ReadFile(path)
			e.lines = string(content)
		}
		all[rel] = e
		return err
	})
	return all, err
}

// lookScript prints what [parseView] reads. It fails where anything cannot be
// listed or read.
const lookScript = `find . -mindepth 1 \( -type d -printf '%y %P\t%m\n' -o -printf '%y %P\t%l\n' \) && { grep -rH '' . || [ $? -eq 1 ]; }`

// parseView reads what lookScript printed. No name here has a colon or a tab.
func parseView(out string) (view, error) {
	all := view{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "./"); ok {
			path, text, _ := strings.Cut(rest, ":")
			e := all[path]
			e.lines += text + "\n"
			all[path] = e
			continue
		}
		kind, rest, ok := strings.Cut(line, " ")
		path, target, tab := strings.Cut(rest, "\t")
		if !ok || !tab {
			return nil, fmt.Errorf("cannot read the line %q", line)
		}
		all[path] = entry{kind: kind, lines: target}
	}
	return all, nil
}
