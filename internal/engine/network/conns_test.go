package network

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestEventsOfRulesAreShort however many rules there are.
func TestEventsOfRulesAreShort(t *testing.T) {
	rules := make([]string, 1000)
	for i := range rules {
		rules[i] = strings.Repeat("x", 1000)
	}
	if text := changeText(rules, true); len(text) > 2000 || !strings.Contains(text, "and 995 more") {
		t.Errorf("%d bytes", len(text))
	}
}

// TestSlowFollower: one that reads slowly holds up no other and costs a bounded
// memory.
func TestSlowFollower(t *testing.T) {
	var f followers
	slow := f.join(1000, "")
	for id := range int64(3 * followerRoom / recordBatch) {
		batch := make([]forkbox.Conn, recordBatch)
		for i := range batch {
			batch[i] = forkbox.Conn{ID: id*recordBatch + int64(i), UID: 1000}
		}
		f.tell(batch)
	}
	got := slow.heard()
	if len(got) != followerRoom || got[0].ID+followerRoom-1 != got[len(got)-1].ID {
		t.Errorf("%d wait, from %d to %d", len(got), got[0].ID, got[len(got)-1].ID)
	}
}
