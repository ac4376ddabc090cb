package network

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func conn(host, addr string, port int) forkbox.Conn {
	t := forkbox.NetTarget{Proto: "tcp", Host: host, Port: port}
	if addr != "" {
		t.Addr = netip.MustParseAddr(addr)
	}
	return forkbox.Conn{State: forkbox.ConnRefused, Time: time.Unix(0, 0), NetVerdict: forkbox.NetVerdict{Target: t, Why: "no rule allows it", Remedy: "forkbox net allow x"}}
}

// TestConnLineIsOneLine whatever a box calls its processes, and what it looks
// for: nothing of it breaks the line, moves the cursor or makes a column.
func TestConnLineIsOneLine(t *testing.T) {
	for _, odd := range []string{"a\nb", "a\tb", "a\rb", "\x1b]0;x\x07", "a\u202eb", "a\xff", "a  allowed", `a"b`, "\x9b31m"} {
		c := conn(odd, "192.0.2.7", 443)
		c.Exec, c.PID, c.Command, c.Target.Method, c.Target.Path = odd, 7, odd, odd, odd
		c.Target.Proto, c.Why, c.Rule = odd, odd, forkbox.NetRule{}
		for _, between := range []string{"\t", "  "} {
			line := connLine(c, between)
			if rest := strings.ReplaceAll(line, "\t", ""); terminal.Printable(rest) != rest {
				t.Errorf("%q: %q", odd, line)
			}
			if strings.Count(line, "\t") > 6 {
				t.Errorf("%q makes columns: %q", odd, line)
			}
			if cut, _, _ := strings.Cut(line, odd); strings.Contains(odd, "  ") && !strings.HasSuffix(cut, `"`) {
				t.Errorf("%q passes for a column: %q", odd, line)
			}
		}
	}
}

func TestConnStates(t *testing.T) {
	for state, want := range map[forkbox.ConnState]string{
		forkbox.ConnOpen: "allowed, open", forkbox.ConnClosed: "allowed", forkbox.ConnRefused: "refused",
		forkbox.ConnFailed: "allowed, failed", forkbox.ConnLost: "allowed, lost", "new\n": `"new\n"`,
	} {
		if got := stateOfConn(forkbox.Conn{State: state, Times: 1}); got != want {
			t.Errorf("%s: %q", state, got)
		}
		if got := stateOfConn(forkbox.Conn{State: state, Times: 12}); got != want+" ×12" {
			t.Errorf("%s: %q", state, got)
		}
	}
}
