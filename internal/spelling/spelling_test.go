package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"run", "steps", "checks", "n", "tie_breaks"}
	for word, want := range map[string]string{"chekcs": "checks", "Checks": "checks", "step": "steps", "tie-breaks": "tie_breaks", "x": "", "elephant": "", strings.Repeat("run", 1000): ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, not %q", word, got, want)
		}
	}
}
