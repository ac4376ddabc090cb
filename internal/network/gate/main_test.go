//go:build linux

package gate

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain also is the process that lives in a box's network namespace.
func TestMain(m *testing.M) {
	if os.Getenv(boxVariable) != "" {
		os.Exit(beBox())
	}
	os.Exit(m.Run())
}

// boxVariable tells the test binary to be a box.
const boxVariable = "FORKBOX_TEST_EGRESS_BOX"

// wantNoMore fails when more goroutines of this package or the stack's are left
// than before, after they had time to end.
func wantNoMore(t *testing.T, before int) {
	t.Helper()
	var left string
	for range 6000 { // a minute: it only takes so long when a test fails
		if left = stacks(); strings.Count(left, "\n\n") <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("goroutines are left, %d were there before:\n%s", before, left)
}

// stacks are those of goroutines that a gate or its stack could have started.
func stacks() string {
	buf := make([]byte, 1<<22)
	buf = buf[:runtime.Stack(buf, true)]
	var ours strings.Builder
	for _, one := range strings.Split(string(buf), "\n\n") {
		if (strings.Contains(one, "gvisor.dev") || strings.Contains(one, "egress.(*")) && !strings.Contains(one, "(*world)") {
			ours.WriteString(one + "\n\n")
		}
	}
	return ours.String()
}

func countStacks() int { return strings.Count(stacks(), "\n\n") }

// boxStacks is how many goroutines a box of its own stack has.
func boxStacks(b testBox) int {
	if _, is := b.(*stackBox); is {
		return 64
	}
	return 0
}
