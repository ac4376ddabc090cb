package merge

import (
	"strings"
	"testing"
)

// TestMergingAgainNestsNoMarkers: whatever the other side does next, a text has
// each conflict once, and both sides of it.
func TestMergingAgainNestsNoMarkers(t *testing.T) {
	text := func(words string) []byte { return []byte(strings.ReplaceAll(words, " ", "\n") + "\n") }
	base, ours, theirs := text("1 2 3 4 5 6 7"), text("1 2 box 4 5 6 7"), text("1 2 real 4 5 6 7")
	first := Again(base, ours, theirs, labels)
	if first.Conflicts != 1 {
		t.Fatalf("%d conflicts:\n%s", first.Conflicts, first.Content)
	}
	for _, row := range []struct {
		name, now, want string // want: the lines between the markers, and the rest of the text
	}{
		{"nothing", "1 2 real 4 5 6 7", "1 2 <box|real> 4 5 6 7"},
		{"elsewhere", "1 2 real 4 5 6 seven", "1 2 <box|real> 4 5 6 seven"},
		{"the same line", "1 2 other 4 5 6 7", "1 2 <box|other> 4 5 6 7"},
		{"both", "1 2 other 4 5 6 seven", "1 2 <box|other> 4 5 6 seven"},
		{"gone", "1 2 4 5 6 7", "1 2 <box|> 4 5 6 7"},
	} {
		for name, from := range map[string][]byte{"known": theirs, "unknown": nil} {
			got := Again(from, first.Content, text(row.now), labels)
			if n := strings.Count(string(got.Content), oursMarker); n == 0 || n != got.Conflicts || strings.Count(string(got.Content), theirsMarker) != n {
				t.Errorf("%s, %s: %d conflicts in\n%s", row.name, name, got.Conflicts, got.Content)
			}
			if depth := nesting(got.Content); depth != 1 {
				t.Errorf("%s, %s: markers in markers:\n%s", row.name, name, got.Content)
			}
			if short := brief(got.Content); name == "known" && short != row.want {
				t.Errorf("%s: %s, want %s", row.name, short, row.want)
			}
			if strings.Contains(string(got.Content), standIn) {
				t.Errorf("%s, %s:\n%q", row.name, name, got.Content)
			}
		}
	}
}

// What only begins like a conflict is text.
func TestMergingAgainTakesHalfAConflictForText(t *testing.T) {
	ours := "<<<<<<< a\nb\n=======\nc\n<<<<<<< d\n"
	if got := Again([]byte("x\n"), []byte(ours), []byte("x\n"), labels); string(got.Content) != ours || got.Conflicts != 0 {
		t.Errorf("%q", got.Content)
	}
}

func nesting(text []byte) (deepest int) {
	depth := 0
	for line := range strings.Lines(string(text)) {
		switch {
		case isMarker([]byte(line), oursMarker):
			depth++
		case isMarker([]byte(line), theirsMarker):
			depth--
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// brief is a text as words, with <ours|theirs> for conflicts.
func brief(text []byte) string {
	var out []string
	block, side := []string{}, [2][]string{}
	at := -1
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, oursMarker):
			at = 0
		case strings.HasPrefix(line, middleMarker):
			at = 1
		case strings.HasPrefix(line, theirsMarker):
			block = append(block, "<"+strings.Join(side[0], " ")+"|"+strings.Join(side[1], " ")+">")
			out, block, side, at = append(out, block...), nil, [2][]string{}, -1
		case at >= 0:
			side[at] = append(side[at], line)
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}
