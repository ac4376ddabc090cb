package review

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

// box is what the selections of these tests choose from.
var box = []forkbox.Change{
	{Path: "/etc/hosts", Kind: forkbox.Modified, Type: "file"},
	{Path: "/var/log/x.log", Kind: forkbox.Added, Type: "file"},
	{Path: "/w/a", Kind: forkbox.Added, Type: "dir"},
	{Path: "/w/a/b", Kind: forkbox.Added, Type: "file"},
	{Path: "/w/a-b", Kind: forkbox.Added, Type: "file"},
	{Path: "/w/out", Kind: forkbox.Added, Type: "dir"},
	{Path: "/w/out/o", Kind: forkbox.Added, Type: "file"},
}

func chosenOf(t *testing.T, sel forkbox.Selection, hunks ...forkbox.HunkSelection) ([]string, *Chosen, *View) {
	t.Helper()
	ignores := map[string]string{"/w/.forkboxignore": "out/\n"}
	v := newView(nil)
	v.Sorter = newSorter(ignores)
	v.Changes = func(_ context.Context, yield func(forkbox.Change, forkbox.Sides) error) error {
		for _, c := range box {
			if err := yield(c, &sides{t: t}); err != nil {
				return err
			}
		}
		return nil
	}
	c := Choose(sel, hunks, newSorter(ignores))
	var got []string
	if err := v.Each(t.Context(), c, func(e *Entry) error { got = append(got, e.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	return got, c, v
}

func TestSelections(t *testing.T) {
	hunk := forkbox.HunkSelection{Path: "/etc/hosts", Hunks: []int{1}}
	for _, c := range []struct {
		name  string
		sel   forkbox.Selection
		hunks []forkbox.HunkSelection
		want  []string
		unmet bool
	}{
		{name: "the workspace", want: []string{"/w/a", "/w/a/b", "/w/a-b"}},
		{name: "all", sel: forkbox.Selection{All: true},
			want: []string{"/etc/hosts", "/var/log/x.log", "/w/a", "/w/a/b", "/w/a-b", "/w/out", "/w/out/o"}},
		{name: "a directory with what is in it, and not its namesakes", sel: forkbox.Selection{Paths: []string{"/w/a"}}, want: []string{"/w/a", "/w/a/b"}},
		{name: "exact", sel: forkbox.Selection{Paths: []string{"/w/a"}, Exact: true}, want: []string{"/w/a"}},
		{name: "outside of the workspace", sel: forkbox.Selection{Paths: []string{"/etc"}}, want: []string{"/etc/hosts"}},
		{name: "a path leaves noise out", sel: forkbox.Selection{Paths: []string{"/w"}}, want: []string{"/w/a", "/w/a/b", "/w/a-b"}},
		{name: "noise that is named is meant", sel: forkbox.Selection{Paths: []string{"/w/out"}}, want: []string{"/w/out", "/w/out/o"}},
		{name: "noise in noise that is named", sel: forkbox.Selection{Paths: []string{"/w/out/o"}}, want: []string{"/w/out/o"}},
		{name: "exact noise", sel: forkbox.Selection{Paths: []string{"/w/out/o"}, Exact: true}, want: []string{"/w/out/o"}},
		{name: "a path with all", sel: forkbox.Selection{Paths: []string{"/w"}, All: true}, want: []string{"/w/a", "/w/a/b", "/w/a-b", "/w/out", "/w/out/o"}},
		{name: "everything by its root", sel: forkbox.Selection{Paths: []string{"/"}}, want: []string{"/etc/hosts", "/w/a", "/w/a/b", "/w/a-b"}},
		{name: "hunks alone", hunks: []forkbox.HunkSelection{hunk}, want: []string{"/etc/hosts"}},
		{name: "hunks and a path", sel: forkbox.Selection{Paths: []string{"/w/a"}}, hunks: []forkbox.HunkSelection{hunk}, want: []string{"/etc/hosts", "/w/a", "/w/a/b"}},
		{name: "nothing there", sel: forkbox.Selection{Paths: []string{"/w/a", "/w/none"}}, want: []string{"/w/a", "/w/a/b"}, unmet: true},
		{name: "nothing there, exact", sel: forkbox.Selection{Paths: []string{"/etc"}, Exact: true}, unmet: true},
		{name: "no such hunks", hunks: []forkbox.HunkSelection{{Bytes: []byte("/w/\xff")}}, unmet: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, chosen, _ := chosenOf(t, c.sel, c.hunks...)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
			if err := chosen.Unmet("apply"); (err != nil) != c.unmet {
				t.Errorf("unmet: %v", err)
			}
		})
	}
}

// What is not listed is counted: nothing is hidden silently.
func TestEverythingIsCountedWhateverIsListed(t *testing.T) {
	_, _, v := chosenOf(t, forkbox.Selection{Paths: []string{"/w/a"}, Exact: true})
	s := v.Summary
	if s.Total != 1 || s.Workspace.Total != 3 || s.System.Total != 1 || s.Noise.Total != 3 {
		t.Errorf("%+v", s)
	}
}

func TestUnmetNamesEveryPathOnce(t *testing.T) {
	_, c, _ := chosenOf(t, forkbox.Selection{Paths: []string{"/n/2", "/n/1", "/n/1", "/w"}}, forkbox.HunkSelection{Path: "/n/2"})
	var e *forkbox.Error
	if err := c.Unmet("apply"); !errors.As(err, &e) || e.Code != forkbox.NotFound || len(e.Items) != 2 || e.Items[0].Path != "/n/1" || e.Items[1].Path != "/n/2" {
		t.Errorf("%+v", e)
	}
}

// The ignore file of a box counts for what the box added, and not for files
// that were there: it must not hide what was done to them.
func TestTheBoxCannotHideItsEdits(t *testing.T) {
	v := newView(nil)
	var noise []string
	v.Changes = func(_ context.Context, yield func(forkbox.Change, forkbox.Sides) error) error {
		for _, c := range []forkbox.Change{
			{Path: "/w/.gitignore", Kind: forkbox.Added, Type: "file"},
			{Path: "/w/edited", Kind: forkbox.Modified, Type: "file"},
			{Path: "/w/new", Kind: forkbox.Added, Type: "file"},
		} {
			if err := yield(c, &sides{t: t, new: file(0o644, before), newText: "*\n"}); err != nil {
				return err
			}
		}
		return nil
	}
	err := v.Each(t.Context(), Choose(forkbox.Selection{All: true}, nil, newSorter(nil)), func(e *Entry) error {
		if e.Scope == forkbox.Noise {
			noise = append(noise, e.Path)
		}
		return nil
	})
	if err != nil || slices.Contains(noise, "/w/edited") || !slices.Contains(noise, "/w/new") {
		t.Errorf("noise: %q, %v", noise, err)
	}
}
