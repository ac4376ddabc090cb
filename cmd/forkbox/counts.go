package main

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// shownDeletions is how many deletions are named before they are counted.
const shownDeletions = 20

// countByKind reads "2 deleted, 1 modified, 3 added".
func countByKind(s forkbox.Count) string {
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

// inBrackets is what package managers did, if they did anything.
func inBrackets(packages []string) string {
	if len(packages) == 0 {
		return ""
	}
	return " (" + printable(strings.Join(packages, ", ")) + ")"
}
