package change

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	want := []string{"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a\n", "/a b", "/a-b", "/a-b/c", "/ab", "/b", "/\xff"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
