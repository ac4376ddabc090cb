package change

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/describe"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// tellRest says on stderr what was not listed: nothing is hidden silently, and
// nothing gets into a pipe.
func (d *Differ) tellRest(spec forkbox.DiffSpec, s forkbox.Summary) {
	if s.RenamesSkipped {
		d.Say("note: there are too many changes to look for moved files")
	}
	for _, line := range restLines(spec, s) {
		d.Say("%s", line)
	}
}

func restLines(spec forkbox.DiffSpec, s forkbox.Summary) []string {
	listed := s.Total
	everything := s.Workspace.Total + s.System.Total + s.Noise.Total
	switch {
	case spec.All && len(spec.Paths) == 0:
		return nothingAtAll(listed)
	case len(spec.Paths) > 0:
		if everything > listed {
			return append(nothingAtAll(listed), wholeBox(s))
		}
		return nothingAtAll(listed)
	}
	var parts []string
	if s.System.Total > 0 {
		parts = append(parts, "system: "+terminal.Plural(s.System.Total, "change")+describe.InBrackets(s.Packages))
	}
	if s.Noise.Total > 0 {
		parts = append(parts, "noise: "+terminal.Plural(s.Noise.Total, "change"))
	}
	if len(parts) == 0 {
		return nothingAtAll(listed)
	}
	line := strings.Join(append(parts, "--all shows them"), "   ")
	if listed == 0 {
		return []string{"nothing changed in the workspace", line}
	}
	return []string{line}
}

func nothingAtAll(listed int) []string {
	if listed == 0 {
		return []string{"nothing changed"}
	}
	return nil
}

// wholeBox is for a list of some paths only.
func wholeBox(s forkbox.Summary) string {
	return fmt.Sprintf("in the whole box: %s in the workspace, %d in the system, %d noise",
		terminal.Plural(s.Workspace.Total, "change"), s.System.Total, s.Noise.Total)
}
