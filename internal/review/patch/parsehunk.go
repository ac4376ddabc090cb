package patch

import (
	"bytes"
	"strconv"
	"strings"
)

// body reads a file's hunks or binary content.
func (f *fileParser) body(start int) error {
	f.Head = f.text[start:f.at:f.at]
	switch line := f.peek(); {
	case hasPrefix(line, "--- "):
		return f.textBody(start)
	case string(line) == binaryHeader:
		f.Binary = true
		return f.binaryBody()
	case hasPrefix(line, "Binary files ") && bytes.HasSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(" differ")):
		f.Binary = true
		f.next()
		f.Head = f.text[start:f.at:f.at]
	}
	return nil
}

func (f *fileParser) textBody(start int) error {
	if err := f.readLabels(); err != nil {
		return err
	}
	f.Head = f.text[start:f.at:f.at]
	for hasPrefix(f.peek(), "@@ -") {
		h, err := f.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 {
		return f.errorf("a hunk was expected")
	}
	return f.checkNothingHidden()
}

func (f *fileParser) readLabels() error {
	text, _ := f.accept("--- ")
	if f.labels.old, f.labels.hasOld = labelName(text, "a/"); !f.labels.hasOld {
		return f.errorf("%q above names no old file", text)
	}
	text, ok := f.accept("+++ ")
	if f.labels.new, f.labels.hasNew = labelName(text, "b/"); !ok || !f.labels.hasNew {
		return f.errorf("the name of the new file was expected")
	}
	return nil
}

// checkNothingHidden refuses lines that look like changes after the last line
// that the headers count. A mail's signature, "-- ", is none.
func (f *fileParser) checkNothingHidden() error {
	line := f.peek()
	if len(line) == 0 || string(line) == "-- \n" || !strings.ContainsRune(" +-\\", rune(line[0])) {
		return nil
	}
	return f.errorf("there are more lines than the hunk's header counts")
}

func (f *fileParser) hunk() (Hunk, error) {
	h, ok := parseHunkHeader(string(f.peek()))
	if !ok {
		return h, f.errorf("%q is not the header of a hunk", f.peek())
	}
	f.next()
	oldLeft, newLeft := h.OldLines, h.NewLines
	oldEnded, newEnded := false, false // by a line without newline
	for oldLeft > 0 || newLeft > 0 {
		line, err := f.hunkLine()
		if err != nil {
			return h, err
		}
		inOld, inNew := line.Op != '+', line.Op != '-'
		if inOld && (oldLeft == 0 || oldEnded) || inNew && (newLeft == 0 || newEnded) {
			return h, f.errorf("the lines above are not those that the hunk's header counts")
		}
		open := !bytes.HasSuffix(line.Text, []byte("\n"))
		oldEnded, newEnded = oldEnded || inOld && open, newEnded || inNew && open
		if inOld {
			oldLeft--
		}
		if inNew {
			newLeft--
		}
		h.Lines = append(h.Lines, line)
	}
	return h, nil
}

// hunkLine reads one line, and the remark after it that it has no newline.
func (f *fileParser) hunkLine() (Line, error) {
	text := f.peek()
	if !bytes.HasSuffix(text, []byte("\n")) {
		return Line{}, f.errorf("the patch ends within a hunk")
	}
	line := Line{' ', text} // programs that trim lines leave an empty one so
	if text[0] != '\n' {
		line = Line{text[0], text[1:]}
	}
	if line.Op != ' ' && line.Op != '+' && line.Op != '-' {
		return Line{}, f.errorf("%q does not belong in a hunk, which is longer by its header", text)
	}
	f.next()
	if hasPrefix(f.peek(), `\ `) {
		f.next()
		line.Text = line.Text[:len(line.Text)-1]
	}
	return line, nil
}

// parseHunkHeader reads "@@ -1,2 +3,4 @@ section".
func parseHunkHeader(text string) (h Hunk, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSuffix(text, "\n"), "@@ -")
	old, rest, ok1 := strings.Cut(text, " +")
	new, section, ok2 := strings.Cut(rest, " @@")
	var ok3, ok4 bool
	h.OldStart, h.OldLines, ok3 = parseLineRange(old)
	h.NewStart, h.NewLines, ok4 = parseLineRange(new)
	h.Section = strings.TrimPrefix(section, " ")
	return h, ok && ok1 && ok2 && ok3 && ok4 && h.OldLines+h.NewLines > 0
}

func parseLineRange(text string) (start, count int, ok bool) {
	from, lines, hasCount := strings.Cut(text, ",")
	if !hasCount {
		lines = "1"
	}
	const bits = 31 // so that sums do not overflow
	a, err1 := strconv.ParseUint(from, 10, bits)
	b, err2 := strconv.ParseUint(lines, 10, bits)
	return int(a), int(b), err1 == nil && err2 == nil && (a > 0 || b == 0)
}
