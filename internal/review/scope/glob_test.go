package scope

import (
	"path"
	"strings"
	"testing"
)

// FuzzPattern compares the matcher, which never goes back further than it
// must, with one that tries everything.
func FuzzPattern(f *testing.F) {
	f.Add("*.log", "a/b.log", false)
	f.Add("!/a/**/b/", "a/x/y/b", true)
	f.Add("a**/b", "axx/yy/b", false)
	f.Add(`[[:alpha:]-\]]?\ `, "x] ", false)
	f.Add("**/*a*b/**/c*", "ab/ab/x/cc", false)
	f.Add("[", "[", false)
	f.Add(`**\/a`, "b/a", false)
	f.Fuzz(func(t *testing.T, line, rel string, dir bool) {
		if len(line) > 24 || len(rel) > 24 || rel == "" {
			return // trying everything takes too long
		}
		r, ok := parseRule(line)
		if !ok {
			return
		}
		want := r.matchSlowly(rel, dir)
		if got := r.match(rel, path.Base(rel), dir); got != want {
			t.Errorf("%q on %q: %v", line, rel, got)
		}
	})
}

func (r rule) matchSlowly(rel string, dir bool) bool {
	if r.baseOnly {
		rel = path.Base(rel)
	}
	return (dir || !r.dirOnly) && strings.HasPrefix(rel, r.prefix) && r.rest.matchSlowly(rel[len(r.prefix):])
}

// matchSlowly tries every length for whatever can have several.
func (g glob) matchSlowly(text string) bool {
	if len(g) == 0 {
		return text == ""
	}
	switch g[0].part {
	case literal, anyByte, oneOf:
		return text != "" && g[0].takes(text[0]) && g[1:].matchSlowly(text[1:])
	}
	for n := range len(text) + 1 {
		if g[0].canTake(text[:n]) && g[1:].matchSlowly(text[n:]) {
			return true
		}
	}
	return false
}

func (s step) canTake(text string) bool {
	switch s.part {
	case star:
		return !strings.Contains(text, "/")
	case dirs:
		return text == "" || strings.HasSuffix(text, "/")
	case someDir:
		return strings.HasSuffix(text, "/")
	}
	return true
}

// TestPatterns has the cases of git's documentation, and those that are
// easily got wrong.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		line, path string
		dir, want  bool
	}{
		{"a", "a", false, true},
		{"a", "x/a", false, true},
		{"a/", "a", false, false},
		{"a/", "x/a", true, true},
		{"/a", "a", false, true},
		{"/a", "x/a", false, false},
		{"x/a", "y/x/a", false, false},
		{"**/x/a", "y/x/a", false, true},
		{"**/x/a", "x/a", false, true},
		{"x/**", "x", true, false},
		{"x/**", "x/y/z", false, true},
		{"x/**/z", "x/z", false, true},
		{"x/**/z", "x/a/b/z", false, true},
		{"x**z", "xaz", false, true},
		{"/x**z", "xa/z", false, false},
		{"x*/z", "xa/b/z", false, false},
		{"x?z", "x/z", false, false},
		{"/x[!a]z", "x/z", false, false},
		{"*", "\xff\n", false, true},
		{"a ", "a", false, true},
		{`a\ `, "a ", false, true},
		{`\#a`, "#a", false, true},
		{`\!a`, "!a", false, true},
		{"a\\", "a\\", false, false},
		{"[a", "[a", false, false},
		{"[[:word:]]", "a", false, false},
		{"", "", false, false},
	} {
		rules := parseRules([]byte(c.line))
		got := lastMatch(rules, c.path, path.Base(c.path), c.dir) != nil
		if got != c.want {
			t.Errorf("%q on %q (directory: %v): %v", c.line, c.path, c.dir, got)
		}
	}
}

// TestHostilePatternIsCheap would take longer than the universe lasts if a
// mismatch tried every way to spread the stars.
func TestHostilePatternIsCheap(t *testing.T) {
	name := strings.Repeat("a", 250)
	for _, line := range []string{strings.Repeat("*a", 100) + "b", "/" + strings.Repeat("**/*a*a", 50) + "/b"} {
		r, ok := parseRule(line)
		if !ok || r.match(name+"/"+name, name, false) {
			t.Errorf("%.20q… matched", line)
		}
	}
}
