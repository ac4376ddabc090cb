package scope

import (
	"slices"
	"testing"
)

func TestRoot(t *testing.T) {
	for _, c := range []struct {
		dir  string
		git  []string
		want string
	}{
		{"/", nil, ""},
		{"/", []string{"/.git"}, ""},
		{"/srv", nil, "/srv"},
		{"/srv/p/src", []string{"/srv/p/.git"}, "/srv/p"},
		{"/srv/p", []string{"/srv/p/.git"}, "/srv/p"},
		{"/srv/p/sub/x", []string{"/srv/p/.git", "/srv/p/sub/.git"}, "/srv/p/sub"},
		{"/srv/p", []string{"/.git"}, "/srv/p"}, // or the machine would be the workspace
		{"/srv/p/", nil, "/srv/p"},
		{"/srv/\xff\n", []string{"/srv/\xff\n/.git"}, "/srv/\xff\n"},
		{"not/absolute", nil, ""},
		{"", nil, ""},
	} {
		got := Root(c.dir, func(path string) bool { return slices.Contains(c.git, path) })
		if got != c.want {
			t.Errorf("Root(%q) with %q is %q, not %q", c.dir, c.git, got, c.want)
		}
	}
}
