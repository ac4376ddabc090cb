package forkbox_test

import (
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestComparePaths(t *testing.T) {
	want := []string{"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a\n", "/a b", "/a-b", "/a-b/c", "/ab", "/b", "/\xff"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, forkbox.ComparePaths)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
