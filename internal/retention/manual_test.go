package retention

import (
	"os"
	"strings"
	"testing"
)

// TestManual: the page for users has the default as it is, and its examples
// can be used.
func TestManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/RETENTION.md")
	if err != nil {
		t.Fatal(err)
	}
	var policies []Policy
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(line, "    FORKBOX_RETENTION="); ok {
			p, err := Default().With(strings.TrimSpace(text))
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			policies = append(policies, p)
		}
	}
	if len(policies) != 2 || policies[0] != Default() || !strings.Contains(string(page), "="+Default().String()+"\n") {
		t.Errorf("the page has %v, the default is %v", policies, Default())
	}
	for _, o := range outcomes {
		row := "(*" + string(o) + "*) | " + span(*new(Default()).age(o))
		if o == Unreviewed {
			row = "(*unreviewed*) | for ever"
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("the table does not say %q", row)
		}
	}
}
