package patch

import "strings"

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
