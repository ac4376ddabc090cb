package change

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// patchPainter writes a patch for a terminal in git's colours, with the words
// that changed in a changed line in reverse.
type patchPainter struct {
	out      *bufio.Writer
	colour   bool
	old, new int  // lines that the hunk still has of each side
	numbered bool // hunks show their numbers, as --hunks takes them
	hunks    int  // so far

	removed, added [][]byte // a run of changed lines, waiting for its end
}

// write takes whole patches. Inside a hunk lines are counted, not guessed at: a
// removed line that begins with "-- " is no header.
func (p *patchPainter) write(text []byte) {
	for line := range bytes.Lines(text) {
		p.line(line)
	}
}

func (p *patchPainter) line(line []byte) {
	inHunk := p.old > 0 || p.new > 0
	switch {
	case inHunk && line[0] == '-':
		if len(p.added) > 0 {
			p.flush()
		}
		p.old--
		p.removed = append(p.removed, bytes.Clone(line))
	case inHunk && line[0] == '+':
		p.new--
		p.added = append(p.added, bytes.Clone(line))
	case line[0] == '\\':
		p.noNewline(line)
	case inHunk:
		p.flush()
		p.old--
		p.new--
		p.put("", line)
	case bytes.HasPrefix(line, []byte("@@ ")):
		p.flush()
		p.hunk(line)
	default:
		p.flush()
		p.put(terminal.Bold, line)
	}
}

// noNewline belongs to the line before it and stays with it.
func (p *patchPainter) noNewline(line []byte) {
	switch {
	case len(p.added) > 0:
		p.added[len(p.added)-1] = append(p.added[len(p.added)-1], line...)
	case len(p.removed) > 0:
		p.removed[len(p.removed)-1] = append(p.removed[len(p.removed)-1], line...)
	default:
		p.put("", line)
	}
}

// hunk reads "@@ -1,7 +1,6 @@ section".
func (p *patchPainter) hunk(line []byte) {
	p.old, p.new = patch.HunkLines(string(line))
	head, section := line, []byte("\n")
	if end := bytes.Index(line[3:], []byte(" @@")); end >= 0 {
		head, section = line[:end+6], line[end+6:]
	}
	p.span(terminal.Cyan, head)
	if p.hunks++; p.numbered {
		section = fmt.Appendf(bytes.TrimSuffix(bytes.Clone(section), []byte("\n")), "  # hunk %d\n", p.hunks)
	}
	p.put("", section)
}

// flush writes a run of changed lines. Where as many were added as removed,
// each was changed into its counterpart.
func (p *patchPainter) flush() {
	paired := p.colour && len(p.removed) == len(p.added)
	spans := make([][2][]patch.Span, len(p.removed))
	if paired {
		for i := range p.removed {
			spans[i][0], spans[i][1] = changedWords(p.removed[i], p.added[i])
		}
	}
	for i, line := range p.removed {
		p.emphasised(terminal.Red, line, spans[i][0])
	}
	for i, line := range p.added {
		var marks []patch.Span
		if paired {
			marks = spans[i][1]
		}
		p.emphasised(terminal.Green, line, marks)
	}
	p.removed, p.added = nil, nil
}

func (p *patchPainter) end() error {
	p.flush()
	_, err := p.out.Write(nil) // the first error, if there was any
	return err
}

// emphasised puts the marked bytes in reverse.
func (p *patchPainter) emphasised(c terminal.Colour, line []byte, marks []patch.Span) {
	if !p.colour || len(marks) == 0 {
		p.put(c, line)
		return
	}
	at := 0
	for _, mark := range marks {
		p.span(c, line[at:mark.From])
		p.span(c+";7", line[mark.From:mark.To])
		at = mark.To
	}
	p.put(c, line[at:])
}

// put writes the rest of a line.
func (p *patchPainter) put(c terminal.Colour, line []byte) {
	text, newline := bytes.CutSuffix(line, []byte("\n"))
	p.span(c, text)
	if newline {
		p.out.WriteByte('\n')
	}
}

func (p *patchPainter) span(c terminal.Colour, text []byte) {
	switch {
	case len(text) == 0:
	case p.colour && c != "":
		p.out.WriteString(c.Paint(terminal.Visible(text)))
	default:
		p.out.WriteString(terminal.Visible(text))
	}
}

// changedWords says which bytes of a removed line and of its counterpart
// differ, the sign in front counted. Lines with little in common are two
// different lines: marking nearly all of them would say nothing.
func changedWords(removed, added []byte) (gone, came []patch.Span) {
	old, new := firstLine(removed[1:]), firstLine(added[1:])
	gone, came = patch.Words(old, new)
	common := min(len(bytes.TrimSpace(old))-covered(gone), len(bytes.TrimSpace(new))-covered(came))
	if common*3 < max(len(old), len(new)) {
		return nil, nil
	}
	return shifted(gone), shifted(came)
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

func covered(spans []patch.Span) (n int) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

// shifted counts the sign.
func shifted(spans []patch.Span) []patch.Span {
	for i := range spans {
		spans[i].From++
		spans[i].To++
	}
	return spans
}
