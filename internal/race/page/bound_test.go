package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestLongLinesAreCut(t *testing.T) {
	p := sample()
	p.Diffs["patch"][0].Patch = []byte("@@ -0,0 +1 @@\n+" + strings.Repeat("y", 1<<20) + "\n")
	pre := sound(t, write(t, p)).id("approach-1").one("pre")
	if n := len(pre.text()); n > 2000 {
		t.Errorf("the line has %d characters", n)
	}
	contains(t, pre.text(), "… (1023 KiB more)")
}

func TestLongFilesAreCut(t *testing.T) {
	p := sample()
	p.Diffs["patch"][0].Patch = append([]byte("@@ -0,0 +1,5000 @@\n"), bytes.Repeat([]byte("+line\n"), 5000)...)
	details := sound(t, write(t, p)).id("approach-1").one("details")
	if n := len(details.one("pre").all("span")); n != 3000 {
		t.Errorf("%d lines are shown", n)
	}
	contains(t, details.one("p").text(), "2001 more lines are not here.")
}

func TestManyFilesAreCut(t *testing.T) {
	p := sample()
	for i := range 10000 {
		p.Diffs["patch"] = append(p.Diffs["patch"], forkbox.Change{Path: fmt.Sprintf("/home/me/app/%d", i), Kind: forkbox.Added, Type: "file"})
	}
	section := sound(t, write(t, p)).id("approach-1")
	if n := len(section.all("details")); n != 500 {
		t.Errorf("%d files are shown", n)
	}
	contains(t, section.class("left")[0].text(), "9501 more changes are not here: forkbox race diff fix-login patch has them.")
}

// Who left something out says so, also when nothing is left.
func TestWhatWasCutBeforeIsSaid(t *testing.T) {
	p := sample()
	p.Cut = map[string]bool{"patch": true, "dep": true}
	d := sound(t, write(t, p))
	for _, id := range []string{"approach-1", "approach-2"} {
		contains(t, d.id(id).class("left")[0].text(), "Not all that it changed is here: forkbox race diff fix-login")
	}
}

func TestPatchesThatWereCutBeforeAreSaid(t *testing.T) {
	p := sample()
	p.Diffs["patch"][0].Patch = nil
	contains(t, sound(t, write(t, p)).id("approach-1").one("details").text(), "Its lines are not here: the page would be too large.")
}

// One approach cannot take the room of another, and all of them together have
// a bound.
func TestApproachesShareTheRoom(t *testing.T) {
	p := sample()
	patch := append([]byte("@@ -0,0 +1,3000 @@\n"), bytes.Repeat([]byte("+"+strings.Repeat("z", 99)+"\n"), 2900)...)
	p.Race.Entries = nil
	for i := range forkbox.MostApproaches {
		name := fmt.Sprintf("a%d", i)
		p.Race.Entries = append(p.Race.Entries, forkbox.Entry{Name: name})
		p.Diffs[name] = []forkbox.Change{sampleChange(), {Path: "/big", Kind: forkbox.Modified, Patch: patch}}
	}
	page := write(t, p)
	if len(page) > 20<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	d := sound(t, page)
	last := d.id(fmt.Sprintf("approach-%d", forkbox.MostApproaches))
	contains(t, last.text(), "+++ came", "Its lines are not here: the page would be too large.")
}
