package patch

import (
	"strconv"
	"strings"
)

// fileParser reads one file's part. The same path is told up to three times;
// names keeps them apart so that they can be held against each other.
type fileParser struct {
	*parser
	ParsedFile
	header, moved, labels names
	added, deleted        bool
}

type names struct {
	old, new       string
	hasOld, hasNew bool
}

func (n names) known() bool { return n.hasOld && n.hasNew }

func (p *parser) file() (ParsedFile, error) {
	f := fileParser{parser: p}
	start := p.at
	rest, _ := p.accept(fileHeader)
	f.header = headerNames(rest)
	if err := f.readExtended(); err != nil {
		return ParsedFile{}, err
	}
	if err := f.body(start); err != nil {
		return ParsedFile{}, err
	}
	if err := f.resolve(); err != nil {
		return ParsedFile{}, err
	}
	f.Raw = p.text[start:p.at:p.at]
	return f.ParsedFile, nil
}

// readExtended reads the lines between the first and the content.
func (f *fileParser) readExtended() error {
	for {
		known := false
		for _, h := range extendedHeaders {
			at := *f.parser
			value, ok := f.accept(h.prefix)
			if !ok {
				continue
			}
			if !h.read(f, value) {
				*f.parser = at
				return f.errorf("%q makes no sense after %q", value, h.prefix)
			}
			known = true
			break
		}
		if !known {
			return nil
		}
	}
}

var extendedHeaders = []struct {
	prefix string
	read   func(f *fileParser, value string) bool
}{
	{"old mode ", (*fileParser).readOldMode},
	{"new mode ", (*fileParser).readNewMode},
	{"deleted file mode ", func(f *fileParser, v string) bool { f.deleted = true; return f.readOldMode(v) }},
	{"new file mode ", func(f *fileParser, v string) bool { f.added = true; return f.readNewMode(v) }},
	{"similarity index ", (*fileParser).readSimilarity},
	{"dissimilarity index ", func(_ *fileParser, v string) bool { _, ok := percent(v); return ok }},
	{"rename from ", (*fileParser).readFrom},
	{"rename to ", (*fileParser).readTo},
	{"copy from ", func(f *fileParser, v string) bool { f.Copy = true; return f.readFrom(v) }},
	{"copy to ", func(f *fileParser, v string) bool { f.Copy = true; return f.readTo(v) }},
	{"index ", (*fileParser).readIndex},
}

func (f *fileParser) readOldMode(v string) (ok bool) {
	f.OldMode, ok = parseMode(v)
	return ok
}

func (f *fileParser) readNewMode(v string) (ok bool) {
	f.NewMode, ok = parseMode(v)
	return ok
}

func (f *fileParser) readSimilarity(v string) (ok bool) {
	f.Similarity, ok = percent(v)
	return ok
}

func percent(v string) (int, bool) {
	number, ok := strings.CutSuffix(v, "%")
	n, err := strconv.ParseUint(number, 10, 7)
	return int(n), ok && err == nil && n <= 100
}

func (f *fileParser) readFrom(v string) bool {
	f.moved.old, f.moved.hasOld = wholeName(v)
	return f.moved.hasOld
}

func (f *fileParser) readTo(v string) bool {
	f.moved.new, f.moved.hasNew = wholeName(v)
	return f.moved.hasNew
}

func (f *fileParser) readIndex(v string) bool {
	ids, mode, hasMode := strings.Cut(v, " ")
	old, new, ok := strings.Cut(ids, "..")
	if !ok || !isID(old) || !isID(new) {
		return false
	}
	f.OldID, f.NewID = old, new
	if !hasMode {
		return true
	}
	f.NewMode, ok = parseMode(mode)
	f.OldMode = f.NewMode
	return ok
}

func isID(text string) bool {
	const longest = 64 // sha256
	return text != "" && len(text) <= longest && strings.Trim(text, "0123456789abcdef") == ""
}

// headerNames takes "a/OLD b/NEW" apart. Without quotes that can be done only
// where both are the same, because names may hold " b/" too; where they differ
// other lines tell them.
func headerNames(text string) names {
	before, after, ok := cutHeader(text)
	if !ok {
		return names{}
	}
	old, hasOld := strings.CutPrefix(before, "a/")
	new, hasNew := strings.CutPrefix(after, "b/")
	return names{old, new, hasOld, hasNew}
}

func cutHeader(text string) (before, after string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		first, rest, ok := unquote(text)
		second, spaced := strings.CutPrefix(rest, " ")
		second, whole := wholeName(second)
		return first, second, ok && spaced && whole
	}
	// A name without quotes holds no quote.
	if first, quoted, found := strings.Cut(text, ` "`); found {
		second, whole := wholeName(`"` + quoted)
		return first, second, whole
	}
	half := len(text) / 2
	if len(text)%2 == 0 || text[half] != ' ' {
		return "", "", false
	}
	before, after = text[:half], text[half+1:]
	same := len(before) > 2 && before[2:] == after[2:]
	return before, after, same
}

// wholeName is a name, maybe quoted, with nothing after it.
func wholeName(text string) (string, bool) {
	if !strings.HasPrefix(text, `"`) {
		return text, text != ""
	}
	name, rest, ok := unquote(text)
	return name, ok && rest == "" && name != ""
}

// labelName reads what follows "--- " or "+++ "; absent is "".
func labelName(text, prefix string) (name string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		var rest string
		name, rest, ok = unquote(text)
		if !ok || rest != "" && rest[0] != '\t' {
			return "", false
		}
	} else if name, _, _ = strings.Cut(text, "\t"); name == "/dev/null" {
		return "", true
	}
	name, ok = strings.CutPrefix(name, prefix)
	return name, ok && name != ""
}

// resolve settles the paths. They must agree wherever they are told, or one
// reader would see another file than the one that `git apply` writes.
func (f *fileParser) resolve() error {
	told := f.header
	if f.moved.hasOld != f.moved.hasNew || f.moved.known() && told.known() && f.moved != told {
		return f.errorf("the paths above do not agree")
	}
	if f.moved.known() {
		told = f.moved
	}
	if !told.known() && f.labels.known() {
		told = f.labels.filled()
	}
	if !told.known() || !relative(told.old) || !relative(told.new) {
		return f.errorf("the lines above name no file, with the prefixes a/ and b/, below the current directory")
	}
	if f.added && f.deleted || (f.added || f.deleted) && told.old != told.new {
		return f.errorf("the lines above name more than one change")
	}
	f.OldPath, f.NewPath = told.old, told.new
	if f.added {
		f.OldPath = ""
	}
	if f.deleted {
		f.NewPath = ""
	}
	if f.labels.known() && (f.labels.old != f.OldPath || f.labels.new != f.NewPath) {
		return f.errorf("the paths above do not agree")
	}
	return nil
}

// filled has the one path of an added or deleted file on both sides.
func (n names) filled() names {
	if n.old == "" {
		n.old = n.new
	}
	if n.new == "" {
		n.new = n.old
	}
	return n
}
