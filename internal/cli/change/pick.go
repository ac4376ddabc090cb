package change

import (
	"bufio"
	"io"
	"path"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
)

// picker asks which changes are wanted, as git add -p does.
type picker struct {
	in     *bufio.Reader
	out    io.Writer
	colour bool
	here   place.Place
}

// picks are what was chosen.
type picks struct {
	paths forkbox.Strings // all that is chosen, in whole or in part
	hunks []forkbox.HunkSelection
}

// run asks about every change until the answers end or are q. What was chosen
// before that stays chosen.
func (p *picker) run(changes []forkbox.Change) picks {
	files := pickFiles(changes)
	for _, f := range files {
		if f.implied || refusedAbove(files, f) {
			continue
		}
		session := &pickSession{picker: p, file: f}
		if session.run(); session.quit {
			break
		}
	}
	return chosen(files)
}

// pickFiles prepares the questions. A new directory with something in it is not
// asked about: it lands with what is wanted of it.
func pickFiles(changes []forkbox.Change) []*pickFile {
	above := map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(rawPath(c)); dir != "/" && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	var files []*pickFile
	for _, c := range changes {
		f := newPickFile(c)
		f.above = above[f.path]
		f.implied = f.above && c.Type == "dir" && c.Kind == forkbox.Added
		files = append(files, f)
	}
	return files
}

// refusedAbove is for what lies in a directory that is only there if another
// change is accepted, and that was not.
func refusedAbove(files []*pickFile, f *pickFile) bool {
	for _, dir := range files {
		makes := dir.change.Kind == forkbox.Renamed || dir.change.Kind == forkbox.Type
		if makes && dir.above && !dir.whole() && dir != f && forkbox.Within(f.path, dir.path) {
			return true
		}
	}
	return false
}

// chosen gathers the answers.
func chosen(files []*pickFile) (picked picks) {
	for _, f := range files {
		switch {
		case !f.some():
		case f.whole():
			picked.paths = append(picked.paths, f.path)
		default:
			picked.paths = append(picked.paths, f.path)
			picked.hunks = append(picked.hunks, f.selection())
		}
	}
	return picked
}
