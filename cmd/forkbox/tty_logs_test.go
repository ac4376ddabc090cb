//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestLogsOnATerminalControlNothing: a box could hide lines from who reads
// them. --raw is for who wants them as they are.
func TestLogsOnATerminalControlNothing(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, `printf 'one\033[2K\rtwo \342\202\254\n'; printf 'three\033[8m\n' >&2`)
	c := d.forkbox("logs", "try")
	c.expect("one^[[2K^Mtwo €")
	c.expect("three^[[8m")
	c.ends(0)
	if strings.Contains(c.text(), "\x1b") {
		t.Errorf("%q", c.text())
	}
	c = d.forkbox("logs", "--raw", "try")
	c.expect("one\x1b[2K\rtwo")
	c.ends(0)
	if out := d.must("logs", "try"); !strings.Contains(out, "one\x1b[2K\rtwo") {
		t.Errorf("in a pipe: %q", out)
	}
}

// TestLogsInPieces: a character may come in two pieces.
func TestLogsInPieces(t *testing.T) {
	t.Parallel()
	d := atDesk(t, nil, `printf '\342\202'; sleep 0.05; printf '\254.\377\n\342'`)
	c := d.forkbox("logs", "try")
	c.expect("€.<FF>")
	c.expect("<E2>")
	c.ends(0)
}

func TestDiffRawOnATerminal(t *testing.T) {
	t.Parallel()
	d := atDesk(t, map[string]string{"f": "old\n"}, `printf 'new \033[2K\n' > f`)
	c := d.forkbox("diff", "-p", "--no-pager", "--raw", "try")
	c.expect("+new \x1b[2K")
	c.ends(0)
}
