package change

import (
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// pickFile is a change with its questions: one for each hunk, or one for all.
type pickFile struct {
	change forkbox.Change
	path   string
	what   string // what is asked about where it has no hunks: "deletion"
	units  []pickUnit
	split  bool

	above   bool // other changes lie below it
	implied bool
}

type answer int

const (
	undecided answer = iota
	wanted
	unwanted
)

// pickUnit is one question.
type pickUnit struct {
	hunk   patch.Hunk
	number int // of the hunk, from 1
	runs   []int
	answer answer
}

func newPickFile(c forkbox.Change) *pickFile {
	f := &pickFile{change: c, path: rawPath(c)}
	hunks := hunksOf(c)
	if len(hunks) == 0 {
		f.what = wholeChange(c)
		f.units = []pickUnit{{}}
		return f
	}
	run := 0
	for i, hunk := range hunks {
		unit := pickUnit{hunk: hunk, number: i + 1}
		for range patch.Runs(hunks[i : i+1]) {
			run++
			unit.runs = append(unit.runs, run)
		}
		f.units = append(f.units, unit)
	}
	return f
}

// hunksOf is none for what can land only as a whole.
func hunksOf(c forkbox.Change) []patch.Hunk {
	if c.Kind != forkbox.Modified || c.Binary || len(c.Patch) == 0 {
		return nil
	}
	files, err := patch.Parse(c.Patch)
	if err != nil || len(files) != 1 {
		return nil
	}
	return files[0].Hunks
}

func wholeChange(c forkbox.Change) string {
	switch c.Kind {
	case forkbox.Added:
		return "addition"
	case forkbox.Deleted:
		return "deletion"
	case forkbox.Renamed:
		return "rename"
	case forkbox.Mode:
		return "mode change"
	case forkbox.Type:
		return "type change"
	case forkbox.Linked:
		return "hard link"
	}
	return "this change"
}

// divide splits a unit into its runs of changed lines, each a question of its
// own.
func (f *pickFile) divide(i int) bool {
	unit := f.units[i]
	if len(unit.runs) < 2 {
		return false
	}
	var parts []pickUnit
	for j, part := range patch.Runs([]patch.Hunk{unit.hunk}) {
		parts = append(parts, pickUnit{hunk: part, runs: unit.runs[j : j+1]})
	}
	f.units = append(f.units[:i:i], append(parts, f.units[i+1:]...)...)
	f.split = true
	return true
}

// whole says that all of it is wanted.
func (f *pickFile) whole() bool {
	for _, unit := range f.units {
		if unit.answer != wanted {
			return false
		}
	}
	return true
}

// some says that any of it is.
func (f *pickFile) some() bool {
	for _, unit := range f.units {
		if unit.answer == wanted {
			return true
		}
	}
	return false
}

// selection names the wanted hunks; once one was split, by runs.
func (f *pickFile) selection() forkbox.HunkSelection {
	var numbers []int
	for _, unit := range f.units {
		switch {
		case unit.answer != wanted:
		case f.split:
			numbers = append(numbers, unit.runs...)
		default:
			numbers = append(numbers, unit.number)
		}
	}
	s := selectHunks(f.path, numbers)
	s.Fine = f.split
	return s
}

// selectHunks is how a selection travels: JSON would alter a path that is not
// UTF-8.
func selectHunks(path string, numbers []int) forkbox.HunkSelection {
	s := forkbox.HunkSelection{Path: path, Hunks: numbers}
	if !utf8.ValidString(path) {
		s.Bytes = []byte(path)
	}
	return s
}

func selectedPath(s forkbox.HunkSelection) string {
	if len(s.Bytes) > 0 {
		return string(s.Bytes)
	}
	return s.Path
}
