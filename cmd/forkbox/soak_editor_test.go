//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// editor is a person who edits reality while something lands. It knows for each
// line that it wrote one, and for each that it deleted it: it looks at what it
// displaced only after it did.
type editor struct {
	*rand.Rand
	ws, aside string
	name      string
	made      int
	wrote     lines
	took      lines
}

// The lines of no editor are none.
func (e *editor) written() lines {
	if e == nil {
		return nil
	}
	return e.wrote
}

func (e *editor) deleted() lines {
	if e == nil {
		return nil
	}
	return e.took
}

// landEdited has an editor at work during a step.
func (s *soak) landEdited(seed string, f []string) {
	n, err := strconv.ParseUint(seed, 10, 64)
	s.ok(err)
	e := &editor{Rand: rand.New(rand.NewPCG(n, n)), ws: s.ws, aside: s.ws + ".aside", name: seed, wrote: lines{}, took: lines{}}
	s.ok(os.MkdirAll(e.aside, 0o700))
	s.land(f, func(cmd *exec.Cmd) error {
		done, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for range 80 {
				select {
				case <-done:
					return
				default:
					e.edit()
				}
			}
		}()
		err := cmd.Run()
		close(done)
		<-stopped
		return err
	}, landTry{editor: e})
}

// edit does one thing. What it works on may vanish at any moment: then it did
// nothing.
func (e *editor) edit() {
	files, dirs := e.look()
	if len(files) == 0 {
		return
	}
	file, dir := files[e.IntN(len(files))], dirs[e.IntN(len(dirs))]
	e.made++
	line := fmt.Sprintf("E%s-%d", e.name, e.made)
	switch e.IntN(8) {
	case 0, 1, 2:
		e.append(file, line)
	case 3, 4:
		e.save(file, line)
	case 5:
		e.create(filepath.Join(dir, "w"+fmt.Sprint(e.made)), line)
	case 6:
		_ = unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, filepath.Join(dir, fmt.Sprint("v", e.made)), unix.RENAME_NOREPLACE)
	case 7:
		e.remove(file)
	}
}

func (e *editor) look() (files, dirs []string) {
	filepath.WalkDir(e.ws, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && strings.HasPrefix(d.Name(), ".forkbox-"):
			return fs.SkipDir
		case d.IsDir():
			dirs = append(dirs, path)
		case d.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, dirs
}

// create makes a new file. The editor of an earlier step may have made one of
// this name.
func (e *editor) create(file, line string) {
	e.write(file, line, os.O_CREATE|os.O_EXCL)
}

func (e *editor) append(file, line string) {
	e.write(file, line, os.O_APPEND)
}

func (e *editor) write(file, line string, how int) {
	f, err := os.OpenFile(file, os.O_WRONLY|how, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err == nil {
		e.wrote[line] = true
	}
}

// save writes beside and renames over, as editors do. What it displaces may
// not be what it read: then it has deleted what it did not take over.
func (e *editor) save(file, line string) {
	old, err := os.ReadFile(file)
	beside := filepath.Join(e.aside, fmt.Sprint(e.made))
	if err != nil || os.WriteFile(beside, append([]byte(line+"\n"), old...), 0o644) != nil {
		return
	}
	if unix.Renameat2(unix.AT_FDCWD, beside, unix.AT_FDCWD, file, unix.RENAME_EXCHANGE) != nil {
		return
	}
	e.wrote[line] = true
	e.wrote.add(linesOf(old))
	e.displaced(beside, old)
}

func (e *editor) remove(file string) {
	beside := filepath.Join(e.aside, fmt.Sprint(e.made))
	if os.Rename(file, beside) == nil {
		e.displaced(beside, nil)
	}
}

// displaced notes the lines of what was removed, but for those that were kept.
func (e *editor) displaced(path string, kept []byte) {
	content, _ := os.ReadFile(path)
	gone := linesOf(content).without(linesOf(kept))
	e.took.add(gone)
	e.wrote.drop(gone)
}

func linesOf(content []byte) lines {
	return view{"": {kind: "f", lines: string(content)}}.lines()
}

// settle looks for the editor's lines: in reality, or kept with a receipt.
func (e *editor) settle(s *soak, a *landTry) {
	if e == nil {
		return
	}
	s.edited = true
	s.forget(e.took)
	missing := e.wrote.without(a.now.lines(), e.took)
	// Of what the box deleted, the editor may have saved old lines.
	if box := s.boxes[a.box]; box != nil && a.refused == nil {
		missing.drop(box.removed)
	}
	if a.receipt != nil && a.refused == nil {
		missing.drop(a.receipt.added)
	}
	for line := range missing {
		if !s.keptSomewhere(line) {
			s.Errorf("LOST: during %s an editor wrote %s, and it is nowhere", a.step, line)
		}
		s.kept++
	}
	s.ok(os.RemoveAll(e.aside))
}

// keptSomewhere looks into what receipts keep.
func (s *soak) keptSomewhere(line string) (found bool) {
	tops, _ := filepath.Glob(filepath.Join(filepath.Dir(s.ws), "**", ".forkbox-*"))
	above, _ := filepath.Glob(filepath.Join(filepath.Dir(s.ws), ".forkbox-*"))
	for _, top := range append(append(tops, above...), s.ws, filepath.Join(s.home, "receipts")) {
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || found {
				return nil
			}
			content, _ := os.ReadFile(path)
			found = bytes.Contains(content, []byte(line+"\n"))
			return nil
		})
	}
	return found
}
