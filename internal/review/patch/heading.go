package patch

import "bytes"

// headings finds the line that a hunk's header repeats so that a reader knows
// where in the file he is.
type headings struct {
	lines    [][]byte
	searched int // lines that were looked at for the hunks before
	found    string
}

// above is the heading of a hunk whose first line is from: the nearest line
// above that begins with a letter, '_' or '$', as git has it for files of no
// known language.
func (h *headings) above(from int) string {
	for i := from - 1; i >= h.searched; i-- {
		if line := h.lines[i]; startsName(line[0]) {
			h.found = heading(line)
			break
		}
	}
	h.searched = max(h.searched, from)
	return h.found
}

func heading(line []byte) string {
	const widest = 80 // bytes, as in git
	return string(bytes.TrimRight(line[:min(len(line), widest)], " \t\n\v\f\r"))
}

func startsName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}
