package scope

import "testing"

func TestPatternsOfPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.golden", "a.golden", true},
		{"*.golden", "a/b/c.golden", true},
		{"*.golden", "a.golden.txt", false},
		{"tools/", "tools/a/b", true},
		{"tools", "src/tools/a", true},
		{"tools", "toolset/a", false},
		{"./tools", "tools/a", true},
		{"./tools", "src/tools/a", false},
		{"./a*", "ab", true},
		{"./a*", "x/ab", false},
		{"tests/**", "tests/deep/a", true},
		{"tests/**", "x/tests/a", false},
		{"a/*.py", "a/b.py", true},
		{"a/*.py", "a/b/c.py", false},
		{"**/gold/*", "x/y/gold/z", true},
	} {
		if got := Patterns([]string{"other", c.pattern})(c.path); got != c.want {
			t.Errorf("%s of %s: %v", c.path, c.pattern, got)
		}
	}
}
