package page_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/page"
)

func TestPageHasTheTable(t *testing.T) {
	d := sound(t, write(t, sample()))
	table := d.id("result")
	heads := texts(table.one("thead").all("th"))
	want := []string{"Rank", "Approach", "Outcome", "Checks", "Score", "build", "Time", "CPU", "Memory", "Diff", "Notes"}
	if !slices.Equal(heads, want) {
		t.Errorf("the columns are %q", heads)
	}
	rows := texts(table.one("tbody").all("tr"))
	for i, want := range []string{
		"1patch winnerpassed2 of 21500 ms (438 to 562)1.5s1s64 MiB+2 −1 in 1 file1 risk",
		"2depflaky1 of 2, 1 flaky0.500125 ms3s––––",
		"3 (tie)agentfailed0 of 10–7s–––2 connections refused, attempt 2",
		"3revertbroken–0––––––",
	} {
		if rows[i] != want {
			t.Errorf("row %d is %q, want %q", i, rows[i], want)
		}
	}
	for _, row := range table.one("tbody").all("tr") {
		if n := len(row.all("td")) + len(row.all("th")); n != len(heads) {
			t.Errorf("a row has %d cells", n)
		}
	}
}

func TestPageSaysWhatHappened(t *testing.T) {
	d := sound(t, write(t, sample()))
	if got := d.id("verdict").text(); got != "patch wins: it passes every check, the others do not." {
		t.Errorf("the verdict is %q", got)
	}
	contains(t, d.one("header").text(), "fix-login", "2026-11-15 12:00:00 UTC", "12s", "this machine", "/home/me/app", "42", "Files changed in reality")
	contains(t, d.id("approach-1").text(), "git apply fix.diff", "done in 20ms", "login_test.go", "a test was changed", "winner")
	contains(t, d.id("approach-2").text(), "flaky: go test passed 2 of 3 times", "It changed nothing.")
	contains(t, d.id("approach-3").text(), "Fix the login.\nBe careful.", "Ties with", "revert", "not on this page")
	contains(t, d.id("approach-4").text(), "git revert: exit 128", "exit 128 after")
	contains(t, d.one("footer").text(), "2026-11-15 12:01:00 UTC", "v1.2.3")
}

// The page may be mailed around; what the boxes were given may not.
func TestPageTellsNoEnvironment(t *testing.T) {
	p := sample()
	p.Race.Spec.Approaches[0].Env = forkbox.Strings{"KEY=hunter2"}
	if text := string(write(t, p)); strings.Contains(text, "hunter2") {
		t.Error("the page has a variable of the environment")
	}
}

func TestPageHasEveryCheck(t *testing.T) {
	table := sound(t, write(t, sample())).id("checks")
	if heads := texts(table.one("thead").all("th")); !slices.Equal(heads, []string{"Approach", "go testmust pass", "lintweight 1"}) {
		t.Errorf("the heads are %q", heads)
	}
	want := []string{"✓ passed", "✓ passed", "~ flaky 2/3", "✗ failed", "✗ failed", "– not run", "– not run", "– not run"}
	if got := texts(table.all("td")); !slices.Equal(got, want) {
		t.Errorf("the checks are %q", got)
	}
}

func TestPageColoursPatches(t *testing.T) {
	pre := sound(t, write(t, sample())).id("approach-1").one("pre")
	var got []string
	for _, line := range pre.all("span") {
		got = append(got, line.attr("class")+": "+line.text())
	}
	want := []string{
		"head: diff --git a/login.go b/login.go", "head: --- a/login.go", "head: +++ b/login.go", "hunk: @@ -1,2 +1,3 @@ func login",
		"removed: --- gone", "added: +++ came", "added: +</script><b>x", ":  same",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are %q", got)
	}
	if lines := strings.Split(strings.TrimSuffix(pre.text(), "\n"), "\n"); len(lines) != len(want) {
		t.Errorf("there are %d lines to see: %q", len(lines), lines)
	}
}

func TestPageFoldsFiles(t *testing.T) {
	p := sample()
	renamed := forkbox.Change{Path: "/home/me/app/b.go", From: "/home/me/app/a.go", Kind: forkbox.Renamed, Type: "file", Similarity: 100}
	p.Diffs["dep"] = []forkbox.Change{
		sampleChange(), renamed,
		{Path: "/etc/hosts", Kind: forkbox.Mode, Type: "file", Scope: forkbox.System, OldMode: 0o644, Mode: 0o755},
		{Path: "/home/me/app/logo.png", Kind: forkbox.Added, Type: "file", Size: 2048, Binary: true, Patch: []byte("diff --git a/x b/x\nGIT binary patch\nzcmV\n")},
	}
	d := sound(t, write(t, p))
	got := texts(d.id("approach-2").all("summary"))
	want := []string{
		"login.go modified +2 −1", "b.go renamed from a.go +0 −0",
		"/etc/hosts mode, -rw-r--r-- to -rwxr-xr-x, outside of the workspace +0 −0", "logo.png added +0 −0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the files are %q", got)
	}
	if text := d.id("approach-2").text(); strings.Contains(text, "zcmV") {
		t.Error("the bytes of a binary file are on the page")
	} else {
		contains(t, text, "A binary file: 2 KiB.")
	}
	if open := d.id("approach-1").one("details").Node.Attr; len(open) != 2 {
		t.Errorf("the winner's file is folded: %v", open)
	}
}

func TestPageSaysWhereAllBegan(t *testing.T) {
	for _, test := range []struct {
		start forkbox.RaceStart
		setup int
		want  string
	}{
		{forkbox.RaceStart{From: "reality"}, 0, "this machine"},
		{forkbox.RaceStart{From: "base@green"}, 2, "base@green after 2 commands of setup"},
		{forkbox.RaceStart{Template: "deps"}, 1, "the template deps after 1 command of setup"},
	} {
		p := sample()
		p.Race.Spec.Start, p.Race.Spec.Setup = test.start, make([]forkbox.Command, test.setup)
		if got := texts(sound(t, write(t, p)).one("header").all("dd"))[4]; got != test.want {
			t.Errorf("each began as %q, not %q", got, test.want)
		}
	}
}

func TestPageOfRacesWithoutWinner(t *testing.T) {
	p := sample()
	p.Race.Winner, p.Race.Verdict, p.Race.State = "", "", forkbox.RaceRunning
	contains(t, sound(t, write(t, p)).id("verdict").text(), "It still runs")
	p.Race.State, p.Race.Why, p.Race.Entries, p.Diffs = forkbox.RaceFailed, "setup: npm ci: exit 1", nil, nil
	d := sound(t, write(t, p))
	contains(t, d.id("verdict").text(), "setup: npm ci: exit 1")
	if len(d.all("svg")) != 0 || len(d.one("tbody").all("tr")) != 0 {
		t.Error("there is something of approaches that never were")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteFails(t *testing.T) {
	err := page.Write(full{}, sample())
	if err == nil || !strings.Contains(err.Error(), "cannot write the page: ") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the error is %v", err)
	}
}
