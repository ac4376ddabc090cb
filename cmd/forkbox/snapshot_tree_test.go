//go:build linux

package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
)

// leaf is what the model knows of one path.
type leaf struct {
	Kind    byte // 'f' file, 'd' directory, 'l' symlink
	Mode    uint32
	Content string // a symlink's target
	Time    int64  // of a file
}

// model is a tree as it should be, by path from the root, which is not in it.
type model map[string]leaf

// edit is one thing that is done to a tree: in a box and in the model.
type edit struct {
	Op      string `json:"op"` // write, append, mkdir, symlink, remove, rename, chmod
	Path    string `json:"path"`
	To      string `json:"to,omitempty"`
	Content string `json:"content,omitempty"`
	Mode    uint32 `json:"mode,omitempty"`
	Time    int64  `json:"time,omitempty"`
}

// editVar makes the test binary edit the tree that it is run in and tell what
// is there afterwards. It is JSON: a list of edits.
const editVar = "FORKBOX_TEST_EDIT"

func init() {
	text, ok := os.LookupEnv(editVar)
	if !ok {
		return
	}
	if err := editHere(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func editHere(text string) error {
	var edits []edit
	if err := json.Unmarshal([]byte(text), &edits); err != nil {
		return err
	}
	syscall.Umask(0)
	for _, e := range edits {
		if err := e.do(); err != nil {
			return fmt.Errorf("%+v: %w", e, err)
		}
	}
	m, err := survey(".")
	if err != nil {
		return err
	}
	return gob.NewEncoder(os.Stdout).Encode(m)
}

// do is the edit as a program does it.
func (e edit) do() error {
	switch e.Op {
	case "write":
		return e.write(os.O_TRUNC)
	case "append":
		return e.write(os.O_APPEND)
	case "mkdir":
		return os.Mkdir(e.Path, fs.FileMode(e.Mode))
	case "symlink":
		return os.Symlink(e.Content, e.Path)
	case "remove":
		if _, err := os.Lstat(e.Path); err != nil {
			return err
		}
		return os.RemoveAll(e.Path)
	case "chmod":
		return os.Chmod(e.Path, fs.FileMode(e.Mode))
	case "rename":
		return move(e.Path, e.To)
	}
	return errors.New("no such edit")
}

func (e edit) write(how int) error {
	f, err := os.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|how, fs.FileMode(e.Mode))
	if err != nil {
		return err
	}
	_, err = f.WriteString(e.Content)
	return errors.Join(err, f.Close(), os.Chtimes(e.Path, time.Unix(e.Time, 0), time.Unix(e.Time, 0)))
}

// move is mv: overlayfs may refuse to rename a directory of the base, and then
// a program copies it.
func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := duplicate(from, to); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

func duplicate(from, to string) error {
	m, err := survey(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, info.Mode().Perm()); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(m)) {
		l := m[p]
		e := edit{Op: map[byte]string{'f': "write", 'd': "mkdir", 'l': "symlink"}[l.Kind], Path: filepath.Join(to, p), Content: l.Content, Mode: l.Mode, Time: l.Time}
		if err := e.do(); err != nil {
			return err
		}
	}
	return nil
}

// survey reads a tree into a model.
func survey(root string) (model, error) {
	m := model{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		m[rel], err = leafAt(p)
		return err
	})
	return m, err
}

func leafAt(p string) (l leaf, err error) {
	info, err := os.Lstat(p)
	if err != nil {
		return l, err
	}
	l.Mode = uint32(info.Mode().Perm())
	switch {
	case info.IsDir():
		l.Kind = 'd'
	case info.Mode()&fs.ModeSymlink != 0:
		l.Kind, l.Mode = 'l', 0
		l.Content, err = os.Readlink(p)
	default:
		l.Kind, l.Time = 'f', info.ModTime().Unix()
		var text []byte
		text, err = os.ReadFile(p)
		l.Content = string(text)
	}
	return l, err
}

// apply is the edit as the model has it.
func (m model) apply(e edit) {
	switch e.Op {
	case "write", "append":
		was, there := m[e.Path]
		l := leaf{Kind: 'f', Mode: e.Mode, Content: e.Content, Time: e.Time}
		if there {
			l.Mode = was.Mode
		}
		if e.Op == "append" {
			l.Content = was.Content + e.Content
		}
		m[e.Path] = l
	case "mkdir":
		m[e.Path] = leaf{Kind: 'd', Mode: e.Mode}
	case "symlink":
		m[e.Path] = leaf{Kind: 'l', Content: e.Content}
	case "remove":
		maps.DeleteFunc(m, func(p string, _ leaf) bool { return forkbox.Within(p, e.Path) })
	case "chmod":
		l := m[e.Path]
		l.Mode = e.Mode
		m[e.Path] = l
	case "rename":
		moved := model{}
		for p, l := range m {
			if forkbox.Within(p, e.Path) {
				moved[e.To+p[len(e.Path):]] = l
				delete(m, p)
			}
		}
		maps.Copy(m, moved)
	}
}

// differs says in what got is not m, "" if in nothing.
func (m model) differs(got model) string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(m)) {
		if g, ok := got[p]; !ok {
			fmt.Fprintf(&b, "missing   %q: %s\n", p, m[p])
		} else if g != m[p] {
			fmt.Fprintf(&b, "different %q: is %s, should be %s\n", p, g, m[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(got)) {
		if _, ok := m[p]; !ok {
			fmt.Fprintf(&b, "too much  %q: %s\n", p, got[p])
		}
	}
	return b.String()
}

func (l leaf) String() string {
	return fmt.Sprintf("%c %04o %.40q @%d", l.Kind, l.Mode, l.Content, l.Time)
}

// dirs lists the directories, with the root.
func (m model) dirs() []string {
	all := []string{"."}
	for _, p := range slices.Sorted(maps.Keys(m)) {
		if m[p].Kind == 'd' {
			all = append(all, p)
		}
	}
	return all
}

// free says whether a new path can be made: nothing is there and its directory
// is one.
func (m model) free(p string) bool {
	_, taken := m[p]
	dir := path.Dir(p)
	return !taken && (dir == "." || m[dir].Kind == 'd')
}

// edit has the box do edits, and returns what is there afterwards.
func (w *snapWorld) edit(box string, edits ...edit) model {
	w.Helper()
	if edits == nil {
		edits = []edit{}
	}
	text, err := json.Marshal(edits)
	w.ok(err)
	self, err := os.Executable()
	w.ok(err)
	out := w.run(box, []string{editVar + "=" + string(text)}, self)
	var m model
	if err := gob.NewDecoder(bytes.NewReader([]byte(out))).Decode(&m); err != nil {
		w.Fatalf("%v: %q", err, out)
	}
	return m
}

// look is what a box shows.
func (w *snapWorld) look(box string) model {
	w.Helper()
	return w.edit(box)
}

func (e edit) String() string {
	switch e.Op {
	case "rename":
		return fmt.Sprintf("mv %q %q", e.Path, e.To)
	case "mkdir", "chmod":
		return fmt.Sprintf("%s %04o %q", e.Op, e.Mode, e.Path)
	}
	return fmt.Sprintf("%s %q", e.Op, e.Path)
}
