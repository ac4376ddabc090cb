package forkbox

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestStringsSurviveJSON(t *testing.T) {
	for _, want := range []Strings{{}, {"a", "b c"}, {"caf\xe9", "ok", "\xff\x00"}, {"\u00e9"}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Strings
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q became %q through %s: %v", want, got, text, err)
		}
	}
	var got Strings
	if err := json.Unmarshal([]byte(`["a", 1]`), &got); err == nil {
		t.Error("a number passed for an argument")
	}
}

// What is read the quick way is what the slow one reads.
func FuzzStrings(f *testing.F) {
	for _, text := range []string{
		`["a","b c"]`, `[""]`, `["","",""]`, `[]`, `null`, `["a", "b"]`, ` ["a"] `, `["a\n","b"]`, `["\"","b"]`, `["a\\","b"]`, `["a",{"bytes":"/w=="},"b"]`,
		`["a",["b","c"]]`, `["a",1,"b"]`, `["a",null,"b"]`, `[",",",,"]`, "[\"\xff\"]", `["é","\u00e9"]`, `{"a":"b"}`, `[["a","b"]]`, `["]`, `["a","b"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got Strings
		err := json.Unmarshal([]byte(text), &got)
		var plain []string
		if json.Unmarshal([]byte(text), &plain) == nil && (err != nil || !slices.Equal(got, plain)) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		list, ok := simple(text)
		if json.Valid([]byte(text)) && ok && !slices.Equal(list, plain) {
			t.Errorf("%q was taken for %q, not %q", text, list, plain)
		}
	})
}
