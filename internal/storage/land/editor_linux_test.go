package land

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// editor is a user who works in the tree while something lands there. What it
// writes are lines that nothing else writes, and it keeps count of where they
// have to be.
type editor struct {
	*rand.Rand
	w       *world
	lines   map[string]bool // in reality, or to be there; false: may be in a receipt only
	late    []*os.File      // opened some time ago, and written to later
	edited  map[uint64]int64
	count   int
	left    int // edits that it may still do
	log     []string
	working bool
}

func newEditor(w *world, r *rand.Rand) *editor {
	e := &editor{Rand: r, w: w, lines: map[string]bool{}, edited: map[uint64]int64{}}
	for line := range w.linesIn(w.root, true) {
		e.lines[line] = true
	}
	w.Cleanup(func() {
		for _, f := range e.late {
			f.Close()
		}
	})
	return e
}

var aLine = regexp.MustCompile(`(?m)^(?:old|edit) [0-9]+$`)

// linesIn finds where each line is, in a directory with or without what
// landings keep in it.
func (w *world) linesIn(dir string, outside bool) map[string][]string {
	found := map[string][]string{}
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".forkbox-") && outside {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			text, _ := os.ReadFile(p)
			for _, line := range aLine.FindAllString(string(text), -1) {
				found[line] = append(found[line], p)
			}
		}
		return nil
	})
	return found
}

// beside has the editor do up to n edits while f runs.
func (e *editor) beside(n int, f func()) {
	was, sight := files.Step, files.Glance
	e.left = n
	one := 1 + e.IntN(120) // of so many moments
	maybe := func() {
		if e.left > 0 && !e.working && e.IntN(one) == 0 {
			e.left--
			e.edit()
		}
	}
	files.Step = func(name string) error { maybe(); return was(name) }
	files.Glance = maybe
	defer func() { files.Step, files.Glance = was, sight }()
	f()
}

// edit does something. Whatever it cannot do it leaves.
func (e *editor) edit() {
	e.working = true
	defer func() { e.working = false }()
	file, dir := e.pick(fs.FileMode.IsRegular), e.pick(fs.FileMode.IsDir)
	e.count++
	line := fmt.Sprint("edit ", e.count)
	did := ""
	switch n := e.IntN(12); {
	case n < 2 && file != "":
		did = e.try("append to", file, e.write(file, line))
	case n < 5 && file != "":
		did = e.try("save", file, e.save(file, line))
	case n < 7:
		name := path.Join(dir, "edit"+fmt.Sprint(e.count))
		did = e.try("make", name, e.write(name, line))
	case n == 7 && file != "":
		did = e.remove(file)
	case n == 8 && dir != "/":
		did = e.remove(dir)
	case n == 9:
		from := []string{file, dir}[e.IntN(2)]
		to := path.Join(e.pick(fs.FileMode.IsDir), "moved"+fmt.Sprint(e.count))
		if from != "" && from != "/" && !forkbox.Within(to, from) {
			did = e.try("move to "+to, from, os.Rename(e.w.at(from), e.w.at(to)))
		}
	case n == 10 && file != "":
		if f, err := os.OpenFile(e.w.at(file), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			e.late = append(e.late, f)
			did = "open " + file
		}
	case n == 11 && len(e.late) > 0:
		did = e.writeLate(line)
	}
	if did != "" {
		e.log = append(e.log, did)
	}
}

func (e *editor) try(what, p string, err error) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %q (%d)", what, p, e.count)
}

// pick chooses something in the tree.
func (e *editor) pick(is func(fs.FileMode) bool) string {
	var all []string
	filepath.WalkDir(e.w.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".forkbox-") {
			return fs.SkipDir
		}
		if is(d.Type()) {
			all = append(all, "/"+strings.TrimPrefix(strings.TrimPrefix(p, e.w.root), "/"))
		}
		return nil
	})
	if len(all) == 0 {
		return ""
	}
	return all[e.IntN(len(all))]
}

func (e *editor) write(p, line string) error {
	f, err := os.OpenFile(e.w.at(p), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return e.writeTo(f, line)
}

func (e *editor) writeTo(f *os.File, line string) error {
	if _, err := f.WriteString("\n" + line + "\n"); err != nil {
		return err
	}
	e.lines[line] = true
	var st unix.Stat_t
	e.w.must(unix.Fstat(int(f.Fd()), &st))
	e.edited[st.Ino] = st.Ctim.Nano()
	return nil
}

// save replaces a file as editors do.
func (e *editor) save(p, line string) error {
	text, err := os.ReadFile(e.w.at(p))
	if err != nil {
		return err
	}
	beside := e.w.at(p) + ".swp"
	if err := os.WriteFile(beside, append(text, "\n"+line+"\n"...), 0o644); err != nil {
		return err
	}
	e.w.must(os.Rename(beside, e.w.at(p)))
	e.lines[line] = true
	return nil
}

// remove deletes something, and the lines in it with it.
func (e *editor) remove(p string) string {
	for line, where := range e.w.linesIn(e.w.at(p), true) {
		others := e.w.linesIn(e.w.root, true)[line]
		if len(where) >= len(others) {
			delete(e.lines, line)
		}
	}
	return e.try("remove", p, os.RemoveAll(e.w.at(p)))
}

// writeLate writes to what may have been taken away since it was opened.
func (e *editor) writeLate(line string) string {
	f := e.late[e.IntN(len(e.late))]
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Nlink == 0 {
		return "" // it was deleted
	}
	did := e.try("write late to", f.Name(), e.writeTo(f, line))
	if did != "" && len(e.w.linesIn(e.w.root, true)[line]) == 0 {
		e.lines[line] = false // it was taken away before: it is where that is kept
	}
	return did
}

// reviewed: from here on, what is in the tree may be replaced and kept.
func (e *editor) reviewed() { clear(e.edited) }

// none says that no identity counts as a landing's own that an edit made.
func (e *editor) none(what string, id *forkbox.Identity) {
	if id == nil {
		return
	}
	if at, ok := e.edited[id.Ino]; ok && id.Ctime >= at {
		e.fail("%s: an edit passes for the landing's own doing: %v", what, *id)
	}
}

func (e *editor) fail(format string, args ...any) {
	e.w.Helper()
	if os.Getenv("LAND_SEED") != "" {
		e.tell()
	}
	for _, did := range e.log {
		e.w.Log(did)
	}
	e.w.Fatalf(format, args...)
}

// check says where every line is: in reality; where it was said to be kept;
// or, when it was there to be reviewed, with a receipt.
func (e *editor) check(what string, seen map[string]bool, said string) {
	e.w.Helper()
	inTree, all := e.w.linesIn(e.w.root, true), e.w.linesIn(e.w.root, false)
	for line, where := range e.w.linesIn(e.w.store, false) {
		all[line] = append(all[line], where...)
	}
	for line, must := range e.lines {
		switch {
		case len(inTree[line]) > 0:
			e.lines[line] = true
		case len(all[line]) == 0:
			e.fail("%s: %q is lost; it said: %s", what, line, said)
		case must && !seen[line] && !e.saidSo(all[line], said):
			e.fail("%s: %q is in %q, and nobody said so: %s", what, line, all[line], said)
		default:
			e.lines[line] = false
		}
	}
}

// saidSo: the place is named, as a path of the tree.
func (e *editor) saidSo(where []string, said string) bool {
	for _, p := range where {
		for p != e.w.root && p != "/" {
			if rel := strings.TrimPrefix(p, e.w.root); strings.Contains(said, "kept as "+rel) {
				return true
			}
			p = filepath.Dir(p)
		}
	}
	return false
}

// inReality are the lines that a review could see.
func (e *editor) inReality() map[string]bool {
	seen := map[string]bool{}
	for line := range e.w.linesIn(e.w.root, true) {
		seen[line] = true
	}
	return seen
}

// saying is all that an error, or an outcome, says.
func saying(err error, torn []forkbox.Caution) string {
	var all *forkbox.Error
	if errors.As(err, &all) {
		torn = append(torn, all.Items...)
	}
	return fmt.Sprint(err, torn)
}

// tell logs what was to land.
func (e *editor) tell() {
	_ = Entries(e.w.cfg().Dir, func(x Entry) error {
		e.w.Logf("%s %q from %q", x.Op, x.Path, x.From)
		return nil
	})
}
