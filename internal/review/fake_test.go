package review

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/scope"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// fence lies after everything that this machine did, so that its own
// directories have not changed since.
var (
	fence  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	before = fence.Add(-time.Hour).UnixNano()
	after  = fence.Add(time.Hour).UnixNano()
)

// inside is something below a directory.
type inside struct {
	path string
	node forkbox.Node
	kept bool
}

// sides are two nodes and what they hold.
type sides struct {
	t                *testing.T
	old, new         *forkbox.Node
	oldText, newText string
	copied           bool
	below            []inside
	opened           int // how often the box's file was
}

func (s *sides) Old() (forkbox.Node, error) { return there(s.old) }
func (s *sides) New() (forkbox.Node, error) { return there(s.new) }
func (s *sides) OpenOld() (*os.File, error) { return s.open(s.old, s.oldText) }
func (s *sides) Copied() bool               { return s.copied }

func (s *sides) OpenNew() (*os.File, error) {
	s.opened++
	return s.open(s.new, s.newText)
}

func there(n *forkbox.Node) (forkbox.Node, error) {
	if n == nil {
		return forkbox.Node{}, fs.ErrNotExist
	}
	return *n, nil
}

func (s *sides) open(n *forkbox.Node, text string) (*os.File, error) {
	if n == nil {
		return nil, fs.ErrNotExist
	}
	name := filepath.Join(s.t.TempDir(), "content")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return os.Open(name)
}

func (s *sides) Below(yield func(string, forkbox.Node, bool) error) error {
	for _, in := range s.below {
		if err := yield(in.path, in.node, in.kept); err != nil {
			return err
		}
	}
	return nil
}

// file is a regular file that was last changed at a time.
func file(mode fs.FileMode, ctime int64) *forkbox.Node {
	return &forkbox.Node{Mode: mode, Identity: forkbox.Identity{Ino: 7, Ctime: ctime}}
}

// change is a change of /w/f, a file that reality has as oldText and the box
// as newText; "-" is nothing.
func change(t *testing.T, kind forkbox.Kind, oldText, newText string, ctime int64) *Entry {
	s := &sides{t: t, oldText: oldText, newText: newText}
	e := &Entry{Change: forkbox.Change{Path: "/w/f", Kind: kind, Type: "file"}, Sides: s}
	if oldText != "-" {
		s.old = file(0o644, ctime)
		s.old.Size, e.OldMode = int64(len(oldText)), 0o644
	}
	if newText != "-" {
		s.new = file(0o644, before)
		s.new.Ino, s.new.Size = 8, int64(len(newText))
	}
	return e
}

func (e *Entry) sides() *sides { return e.Sides.(*sides) }

// bases are what reality is known to have been at the fence.
type bases map[string]base

type base struct {
	text   string
	mode   fs.FileMode
	absent bool
}

func (b bases) Base(_ context.Context, path string) ([]byte, fs.FileMode, bool, bool, error) {
	is, ok := b[path]
	return []byte(is.text), is.mode, ok, is.absent, nil
}

func newView(known bases) *View {
	return &View{
		Box:  forkbox.Box{Owner: forkbox.Owner{UID: os.Getuid(), Home: "/home/ada"}, Base: forkbox.Base{Fence: fence}},
		Root: "/w", Sorter: newSorter(nil), Ancestors: known,
	}
}

func newSorter(files map[string]string) *scope.Sorter {
	return scope.New("/w", "/home/ada", func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	})
}

// planned is what a plan makes of a change, in words.
func planned(t *testing.T, v *View, spec forkbox.ApplySpec, e *Entry) (string, *Plan, Step) {
	t.Helper()
	p := &Plan{View: v, Spec: spec, Chosen: Choose(spec.Selection, spec.Hunks, newSorter(nil))}
	e.Drifted = v.drifted(e)
	step, err := p.Next(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return words(t, p, step), p, step
}

func words(t *testing.T, p *Plan, step Step) string {
	var all []string
	for _, item := range step.Items {
		all = append(all, itemWords(t, item))
	}
	if step.Landed.Merged {
		all = append(all, "merged")
	}
	if step.Landed.Partial && len(step.Items) > 0 {
		all = append(all, "partial")
	}
	for _, c := range p.Conflicts {
		all = append(all, "conflict at "+c.Path)
	}
	if p.Left > 0 {
		all = append(all, "left")
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func itemWords(t *testing.T, item land.Item) string {
	switch item.Op {
	case land.Remove:
		return "remove " + item.Path
	case land.Move:
		return "move " + item.From + " to " + item.Path
	case land.Attr:
		return fmt.Sprintf("attr %s %v", item.Path, item.Node.Mode)
	}
	return fmt.Sprintf("put %s %v %q", item.Path, item.Node.Mode, itemText(t, item))
}

func itemText(t *testing.T, item land.Item) string {
	if item.Content == nil {
		return string(item.Bytes)
	}
	text, ok, err := slurp(item.Content)
	if err != nil || !ok {
		t.Fatal(err)
	}
	return string(text)
}

func quote(text string) string { return fmt.Sprintf("%q", text) }
