package page

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// diff is what an approach changed, file by file.
type diff struct {
	Files   []file
	Nothing string // why there are none
	Left    string // what is not here
}

// file is one changed path. Open has it unfolded from the start.
type file struct {
	Path, Kind  string
	Plus, Minus int
	Elsewhere   bool // it is not in the workspace
	Open        bool
	Lines       []line
	Note        string // what the lines do not say
}

// How much of the changes is on the page. All patches together are bounded, and
// each approach has an equal share: one that rewrote a million lines must not
// push the others out.
const (
	mostFiles    = 500  // of an approach
	mostLines    = 3000 // of a file
	mostPatches  = 16 << 20
	leastPatches = 64 << 10
	openLines    = 120 // files of the winner up to this are unfolded
)

// newBudget is how many bytes of patches each of n approaches may show.
func newBudget(n int) int { return max(mostPatches/max(n, 1), leastPatches) }

func newDiff(p Page, e forkbox.Entry, budget int) diff {
	changes, known := p.Diffs[e.Name]
	switch {
	case !known:
		return diff{Nothing: "What it changed is not on this page."}
	case len(changes) == 0 && e.Name == p.Race.Landed:
		return diff{Nothing: hasLanded(p.Race)}
	case len(changes) == 0 && !p.Cut[e.Name]:
		return diff{Nothing: "It changed nothing."}
	}
	d := diff{}
	winner := e.Name == p.Race.Winner
	for _, c := range changes[:min(len(changes), mostFiles)] {
		f := newFile(c, p.Race.Spec.Start.Dir, &budget)
		f.Open = winner && len(f.Lines) <= openLines && len(changes) <= 20
		d.Files = append(d.Files, f)
	}
	d.Left = left(p, e, len(changes)-len(d.Files))
	if e.Name == p.Race.Landed {
		d.Left = strings.TrimSpace("Of what has landed only what differs from it now is here: " + receiptHint(p.Race) + " " + d.Left)
	}
	return d
}

// hasLanded stands where changes would be: reality has them, so that there are
// none any more.
func hasLanded(race forkbox.Race) string {
	return "It has landed, and reality has what it changed: " + receiptHint(race)
}

func receiptHint(race forkbox.Race) string {
	return "forkbox receipts " + short(race.Receipt, mostName) + " shows it."
}

// left says what is missing and where to find it.
func left(p Page, e forkbox.Entry, more int) string {
	if more == 0 && !p.Cut[e.Name] {
		return ""
	}
	text := "Not all that it changed is here"
	if more > 0 {
		text = fmt.Sprintf("%d more changes are not here", more)
	}
	return text + ": forkbox race diff " + short(p.Race.Name, mostName) + " " + short(e.Name, mostName) + " has them."
}

func newFile(c forkbox.Change, dir string, budget *int) file {
	f := file{Path: pathText(c, dir), Kind: kindText(c, dir), Plus: c.Plus, Minus: c.Minus, Elsewhere: c.Scope == forkbox.System}
	text := c.Patch
	if at := bytes.Index(text, []byte("GIT binary patch\n")); c.Binary && at >= 0 {
		text = text[:at]
	}
	switch {
	case c.Binary:
		f.Note = "A binary file: " + sizes(c) + "."
	case len(text) == 0 && c.Plus+c.Minus > 0, len(text) > *budget:
		f.Note, text = "Its lines are not here: the page would be too large.", nil
	case len(text) == 0:
		f.Note = "There are no lines to show: " + sizes(c) + "."
	}
	*budget -= len(text)
	var more int
	if f.Lines, more = patchLines(text); more > 0 {
		f.Note = fmt.Sprintf("%d more lines are not here.", more)
	}
	return f
}

// pathText is a path below the directory of the race as one sees it there.
func pathText(c forkbox.Change, dir string) string {
	path := c.Path
	if len(c.PathBytes) > 0 {
		path = string(c.PathBytes)
	}
	return short(below(path, dir), mostPath)
}

func below(path, dir string) string {
	if dir != "" && path != dir && forkbox.Within(path, dir) {
		return strings.TrimPrefix(path[len(strings.TrimSuffix(dir, "/")):], "/")
	}
	return path
}

// kindText is what happened to it: "renamed from a.go", "added symlink".
func kindText(c forkbox.Change, dir string) string {
	text := short(string(c.Kind), mostName)
	if c.Type != "file" && c.Type != "" {
		text += " " + short(c.Type, mostName)
	}
	if c.From != "" {
		text += " from " + short(below(c.From, dir), mostPath)
	}
	if c.Link != "" {
		text += " to " + short(below(c.Link, dir), mostPath)
	}
	if c.OldMode != 0 && c.Mode != 0 && c.OldMode != c.Mode {
		text += fmt.Sprintf(", %s to %s", forkbox.ModeText(c.OldMode), forkbox.ModeText(c.Mode))
	}
	if c.Hidden {
		text += ", a secret"
	}
	return text
}

func sizes(c forkbox.Change) string {
	switch c.Kind {
	case forkbox.Added:
		return bytesText(c.Size)
	case forkbox.Deleted:
		return bytesText(c.Size) + " before"
	}
	return bytesText(c.OldSize) + " before, " + bytesText(c.Size) + " now"
}

// line is one of a patch. Tone is its class: added, removed, hunk, head, or none
// for what stayed as it was.
type line struct{ Text, Tone string }

// patchLines makes a patch ready to be shown; more is how many lines it left
// out.
func patchLines(text []byte) (list []line, more int) {
	var reader patchReader
	for raw := range bytes.Lines(text) {
		if len(list) == mostLines {
			more++
			continue
		}
		raw = bytes.TrimSuffix(raw, []byte("\n"))
		list = append(list, line{Text: lineText(raw), Tone: reader.tone(string(raw[:min(len(raw), 100)]))})
	}
	return list, more
}

func lineText(raw []byte) string {
	kept, left := cut(string(raw), mostOfALine)
	text := strings.ReplaceAll(visible(strings.TrimSuffix(kept, "\r"), true), "\n", "")
	if strings.HasSuffix(kept, "\r") {
		text += "^M"
	}
	if left > 0 {
		text += fmt.Sprintf("… (%s more)", bytesText(int64(left)))
	}
	return text
}

// patchReader counts the lines of hunks: a removed line that reads "-- x" is no
// header, whatever it looks like.
type patchReader struct{ old, new int }

func (p *patchReader) tone(text string) string {
	inHunk := p.old > 0 || p.new > 0
	switch {
	case inHunk && strings.HasPrefix(text, "-"):
		p.old--
		return "removed"
	case inHunk && strings.HasPrefix(text, "+"):
		p.new--
		return "added"
	case strings.HasPrefix(text, "\\"):
		return "head"
	case inHunk:
		p.old--
		p.new--
		return ""
	case strings.HasPrefix(text, "@@ "):
		p.old, p.new = patch.HunkLines(text)
		return "hunk"
	}
	return "head"
}
