package describe

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// ShownDeletions is how many deletions are named before they are counted.
const ShownDeletions = 20

// CountByKind reads "2 deleted, 1 modified, 3 added".
func CountByKind(s forkbox.Count) string {
	var parts []string
	for _, row := range []struct {
		n    int
		what string
	}{
		{s.Deleted, "deleted"}, {s.Modified, "modified"}, {s.Added, "added"}, {s.Renamed, "renamed"},
		{s.Mode, "with new mode or owner"}, {s.Type, "of another type"}, {s.Linked, "linked"},
	} {
		if row.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", row.n, row.what))
		}
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, ", ")
}

// InBrackets is what package managers did, if they did anything.
func InBrackets(packages []string) string {
	if len(packages) == 0 {
		return ""
	}
	return " (" + terminal.Printable(strings.Join(packages, ", ")) + ")"
}
