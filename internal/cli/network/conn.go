package network

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

const connsHead = "TIME\tVERDICT\tWHERE TO\tWHO\tIN\tOUT\tRULE"

// connLine is one attempt of a box. Nearly all of it was chosen by what runs in
// the box.
func connLine(c forkbox.Conn, between string) string {
	return strings.Join([]string{
		c.Time.Local().Format(time.DateTime), stateOfConn(c), describe.Target(c.Target) + requestOf(c.Target), whoText(c),
		forkbox.FormatSize(c.In), forkbox.FormatSize(c.Out), decidedBy(c),
	}, between)
}

func stateOfConn(c forkbox.Conn) string {
	text := "refused"
	switch c.State {
	case forkbox.ConnClosed:
		text = "allowed"
	case forkbox.ConnOpen, forkbox.ConnFailed, forkbox.ConnLost:
		text = "allowed, " + string(c.State)
	case forkbox.ConnRefused:
	default:
		text = describe.PlainWord(string(c.State))
	}
	if c.Times > 1 {
		text += fmt.Sprintf(" ×%d", c.Times)
	}
	return text
}

func requestOf(t forkbox.NetTarget) string { return terminal.Prefixed(" ", requestText(t)) }

// whoText is the exec, the process and its command, as far as they are known.
func whoText(c forkbox.Conn) string {
	var parts []string
	if c.Exec != "" {
		parts = append(parts, "exec "+describe.PlainWord(c.Exec))
	}
	if c.PID != 0 {
		parts = append(parts, fmt.Sprintf("pid %d", c.PID))
	}
	if c.Command != "" {
		parts = append(parts, describe.PlainWord(c.Command))
	}
	return terminal.OrWord(strings.Join(parts, " "), "-")
}

// decidedBy is the rule, or why there is none.
func decidedBy(c forkbox.Conn) string {
	return terminal.OrWord(ruleFrom(c.Rule), terminal.OrWord(terminal.Printable(c.Why), "-"))
}
