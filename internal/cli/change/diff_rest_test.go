package change

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// Nothing is hidden silently: whatever a list leaves out is counted.
func TestWhatIsNotListedIsCounted(t *testing.T) {
	s := forkbox.Summary{
		Workspace: forkbox.Count{Total: 3}, System: forkbox.Count{Total: 132}, Noise: forkbox.Count{Total: 1},
		Packages: []string{"dpkg: installed jq"},
	}
	all := forkbox.DiffSpec{Selection: forkbox.Selection{All: true}}
	some := forkbox.DiffSpec{Selection: forkbox.Selection{Paths: forkbox.Strings{"/w/a"}}}
	for _, row := range []struct {
		spec    forkbox.DiffSpec
		summary forkbox.Summary
		listed  int
		want    string
	}{
		{forkbox.DiffSpec{}, s, 3, "system: 132 changes (dpkg: installed jq)   noise: 1 change   --all shows them"},
		{forkbox.DiffSpec{}, s, 0, "nothing changed in the workspace\nsystem: 132 changes (dpkg: installed jq)   noise: 1 change   --all shows them"},
		{forkbox.DiffSpec{}, forkbox.Summary{Noise: forkbox.Count{Total: 1}}, 2, "noise: 1 change   --all shows it"},
		{forkbox.DiffSpec{}, forkbox.Summary{}, 0, "nothing changed"},
		{forkbox.DiffSpec{}, forkbox.Summary{Workspace: forkbox.Count{Total: 1}}, 1, ""},
		{all, s, 136, ""},
		{all, forkbox.Summary{}, 0, "nothing changed"},
		{some, s, 1, "in the whole box: 3 changes in the workspace, 132 in the system, 1 noise"},
		{some, s, 0, "nothing changed\nin the whole box: 3 changes in the workspace, 132 in the system, 1 noise"},
	} {
		row.summary.Total = row.listed
		if got := strings.Join(restLines(row.spec, row.summary), "\n"); got != row.want {
			t.Errorf("%+v: %q, not %q", row.spec, got, row.want)
		}
	}
}
