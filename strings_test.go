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
