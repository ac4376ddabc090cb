package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/page"
)

// TestLanded: what has landed does not differ from reality, which is not to say
// that it changed nothing.
func TestLanded(t *testing.T) {
	const landed = "It has landed, and reality has what it changed: forkbox receipts r7 shows it."
	const some = "Of what has landed only what differs from it now is here: forkbox receipts r7 shows it."
	for want, changes := range map[string][]forkbox.Change{landed: {}, some: {sampleChange()}} {
		p := sample()
		p.Race.Landed, p.Race.Receipt = "patch", "r7"
		p.Diffs = map[string][]forkbox.Change{"patch": changes}
		var out bytes.Buffer
		if err := page.Write(&out, p); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "It changed nothing") {
			t.Errorf("the page does not say %q", want)
		}
	}
}
