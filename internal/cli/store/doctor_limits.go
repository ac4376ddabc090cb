package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// limitChecks says how each limit is held on this host, and what boxes are kept
// in.
func limitChecks(ctx context.Context, c *client.Client) []forkbox.Check {
	holds, err := c.Holds(ctx)
	if err != nil {
		return nil // the daemon does not answer: that has been said already
	}
	checks := heldChecks(holds)
	store, err := c.Store(ctx)
	if err != nil {
		return checks // others than root and the daemon's user may not look
	}
	return append(checks, storeCheck(store))
}

// heldChecks has one line for all that is enforced, and one for each limit that
// is not.
func heldChecks(holds map[forkbox.Resource]forkbox.Holding) []forkbox.Check {
	var enforced []string
	var rest []forkbox.Check
	for _, r := range forkbox.Resources {
		// Those that the host is not asked about forkbox holds by itself.
		held, asked := holds[r]
		if !asked || held.How == forkbox.Enforced {
			enforced = append(enforced, string(r)+aside(held.Why))
			continue
		}
		rest = append(rest, forkbox.Check{
			Name: "limit " + string(r), Status: forkbox.Warn, Detail: holdingText(held), Remedy: held.Hint,
		})
	}
	all := forkbox.Check{Name: "limits", Status: forkbox.OK, Detail: "enforced: " + strings.Join(enforced, ", ")}
	return append([]forkbox.Check{all}, rest...)
}

func aside(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func storeCheck(s client.Store) forkbox.Check {
	detail := fmt.Sprintf("%s in %s; pool: %s", terminal.OrWord(s.Driver, "boxes"), s.Dir, poolText(s.Pool))
	return forkbox.Check{Name: "store", Status: forkbox.Info, Detail: detail}
}
