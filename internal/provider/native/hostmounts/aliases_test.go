//go:build linux

package hostmounts

import (
	"slices"
	"testing"
)

func TestAliases(t *testing.T) {
	t.Parallel()
	mounts := []Placed{
		{"8:1", "/", "/"}, {"8:2", "/", "/data"}, {"8:1", "/home", "/srv/homes"},
		{"8:1", "/home/a/store/secrets", "/k"}, {"8:2", "/x", "/home/a/store/pool"}, {"8:2", "/x/y", "/part"}, {"0:5", "/", "/proc"},
	}
	if got := Aliases(mounts, "/nowhere/store"); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
	// Those that are a part of it count; others must be the same file, and here nothing is.
	if got := Aliases(mounts, "/home/a/store"); !slices.Equal(got, []string{"/part", "/k"}) {
		t.Errorf("got %q", got)
	}
}
