//go:build linux

package main

import (
	"strings"
	"testing"
)

// Something runs in the box: the rollback asks, and takes anything but yes for
// no.
func TestRollbackAsksOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "echo one > file")
	d.must("snapshot", "try")
	d.must("exec", "try", "--", "sh", "-c", "echo two > file")
	d.must("exec", "-d", "try", "--", "sleep", "1000")

	c := d.forkbox("rollback", "try")
	c.expect("something runs in box try, and would end. Roll back? [y/N]")
	c.press("\n")
	c.expect("nothing was rolled back")
	c.ends(125)
	if got := d.must("exec", "try", "--", "cat", "file"); got != "two" {
		t.Errorf("it was rolled back: %q", got)
	}

	c = d.forkbox("rollback", "try")
	c.expect("[y/N]")
	c.press("y\n")
	c.expect("box try is as it was at 1")
	c.expect("undo that: forkbox rollback try auto-1")
	c.ends(0)
	if got := d.must("exec", "try", "--", "cat", "file"); got != "one" {
		t.Errorf("it was not rolled back: %q", got)
	}
}

// gc shows what would go before it asks.
func TestGCAsksOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "true")
	gc := []string{"gc", "--max-size", "1", "--unreviewed"}
	c := d.forkbox(gc...)
	c.expect("goes  box  try")
	c.expect("There is no way back. [y/N]")
	c.press("n\n")
	c.expect("nothing was removed")
	c.ends(0)
	if got := d.must("ls"); !strings.Contains(got, "try") {
		t.Errorf("it was removed all the same: %s", got)
	}
	c = d.forkbox(gc...)
	c.expect("[y/N]")
	c.press("yes\n")
	c.expect("removed 1 box")
	c.ends(0)
	c = d.forkbox(gc...)
	c.expect("nothing to clear away")
	c.ends(0)
}

func TestArchivesAreNothingForATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "true")
	for _, args := range [][]string{{"export", "try"}, {"export", "-o", "-", "try"}} {
		c := d.forkbox(args...)
		c.expect("an archive is nothing for a terminal")
		c.expect("forkbox export -o FILE try")
		c.ends(125)
	}
	c := d.forkbox("import", "-")
	c.expect("stdin is a terminal")
	c.ends(125)
}

func TestTreeOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "echo x > x")
	d.must("snapshot", "try", "one")
	d.env = append(d.env, "LC_ALL=C.UTF-8")
	d.forkbox("tree").expect("└─ @one *")
	d.env = append(d.env, "LC_ALL=C")
	d.forkbox("tree").expect("`- @one *")
}

func TestExportLeavesOnlyTheFile(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, "echo x > x")
	c := d.forkbox("export", "-o", "out.tar", "try")
	c.expect("out.tar: ")
	c.ends(0)
	expectFiles(t, d.root, "out.tar")
}
