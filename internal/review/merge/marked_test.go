package merge

import (
	"slices"
	"testing"
)

func TestMarkedFindsConflictsOfTheseLabels(t *testing.T) {
	labels := Labels{Ours: "box", Theirs: "reality"}
	one := "<<<<<<< box\na\n=======\nb\n>>>>>>> reality\n"
	crlf := "<<<<<<< box\r\na\r\n=======\r\nb\r\n>>>>>>> reality\r\n"
	unended := "<<<<<<< box\n=======\n>>>>>>> reality"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"none":                   {"text\n", nil},
		"one":                    {"1\n" + one + "3\n", []string{one}},
		"two":                    {one + "x\n" + crlf, []string{one, crlf}},
		"without a last newline": {unended, []string{unended}},
		"begun twice":            {"<<<<<<< box\nx\n" + one, []string{one}},
		"a heading in it":        {"<<<<<<< box\na\n=======\nb\n=======\nc\n>>>>>>> reality\n", []string{"<<<<<<< box\na\n=======\nb\n=======\nc\n>>>>>>> reality\n"}},
		"other labels":           {"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n", nil},
		"one label":              {"<<<<<<< box\na\n=======\nb\n>>>>>>> box\n", nil},
		"no middle":              {"<<<<<<< box\na\n>>>>>>> reality\n", nil},
		"not at the beginning":   {" <<<<<<< box\na\n=======\nb\n>>>>>>> reality\n", nil},
		"another word":           {"<<<<<<< boxes\na\n=======\nb\n>>>>>>> reality\n", nil},
		"settled":                {"a\n=======\n>>>>>>> reality\n", nil},
	} {
		var got []string
		for _, conflict := range Marked([]byte(c.text), labels) {
			got = append(got, string(conflict))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	written := Two([]byte("a\n"), []byte("b\n"), labels)
	if len(Marked(written.Content, labels)) != written.Conflicts || written.Conflicts != 1 {
		t.Errorf("not found in %q", written.Content)
	}
}
