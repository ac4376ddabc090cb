package scope

import (
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestLearn(t *testing.T) {
	reality := with(gitProject, files{"/w/.gitignore": "*.log\n"})
	s := New("/w", "", reality.read)
	s.Learn("/w/.forkboxignore", []byte("*\n"))
	s.Learn("/w/a/.gitignore", []byte("!x.log\n!y\n"))
	s.Learn("/outside/.gitignore", []byte("*\n"))
	s.Learn("/w/not-an-ignore-file", []byte("*\n"))
	for _, c := range []struct {
		kind forkbox.Kind
		path string
		want forkbox.Scope
	}{
		{forkbox.Added, "/w/new", forkbox.Noise},
		{forkbox.Modified, "/w/old", forkbox.Workspace},
		{forkbox.Deleted, "/w/old", forkbox.Workspace},
		{forkbox.Mode, "/w/old", forkbox.Workspace},
		{forkbox.Type, "/w/old", forkbox.Workspace},
		{forkbox.Renamed, "/w/old", forkbox.Workspace},
		{forkbox.Linked, "/w/old", forkbox.Workspace},
		{forkbox.Modified, "/w/old.log", forkbox.Noise},
		{forkbox.Modified, "/w/a/x.log", forkbox.Noise}, // reality's rule, whatever the box says
		{forkbox.Added, "/w/a/y", forkbox.Noise},        // nothing comes back below an ignored directory
		{forkbox.Added, "/outside/x", forkbox.System},
	} {
		if got := s.Scope(forkbox.Change{Path: c.path, Kind: c.kind, Type: "file"}); got != c.want {
			t.Errorf("%s %q is %s, not %s", c.kind, c.path, got, c.want)
		}
	}
}

// TestLearnOnTheWay: a file can be learned when its own change passes by.
func TestLearnOnTheWay(t *testing.T) {
	s := New("/w", "", gitProject.read)
	added := func(p string) forkbox.Scope {
		return s.Scope(forkbox.Change{Path: p, Kind: forkbox.Added, Type: "file"})
	}
	got := []forkbox.Scope{added("/w/.a/b/c"), added("/w/.gitignore")}
	s.Learn("/w/.gitignore", []byte("out/\n"))
	got = append(got, added("/w/out/x"), added("/w/x"))
	want := []forkbox.Scope{forkbox.Workspace, forkbox.Workspace, forkbox.Noise, forkbox.Workspace}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLearnedIsBounded: a box can make any number of ignore files of any size.
func TestLearnedIsBounded(t *testing.T) {
	s := New("/w", "", gitProject.read)
	s.Learn("/w/.gitignore", append(make([]byte, learnedSize), "\n*\n"...))
	if got := s.Scope(forkbox.Change{Path: "/w/x", Kind: forkbox.Added}); got != forkbox.Workspace {
		t.Error("learned a file that is too large")
	}
	for i := range 3 * learnedMax {
		dir := "/w/" + string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676)})
		s.Learn(dir+"/.gitignore", []byte("*\n"))
	}
	if len(s.learned) > learnedMax {
		t.Errorf("keeps %d files", len(s.learned))
	}
	for i := range 3 * learnedMax {
		dir := "/w/" + string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676)})
		s.Scope(forkbox.Change{Path: dir + "/x", Kind: forkbox.Added})
	}
	if len(s.learned) > 1 {
		t.Errorf("still keeps %d files of directories that were left", len(s.learned))
	}
}
