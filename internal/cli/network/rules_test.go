package network

import (
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestRuleByEitherName: a rule is found by what it is about, although allow and
// deny take different things for granted.
func TestRuleByEitherName(t *testing.T) {
	rules := []forkbox.NetRule{
		{Rule: "allow a.example:443", From: "box"}, {Rule: "deny tcp:b.example", From: "box"}, {Rule: "allow b.example", From: "box"},
		{Rule: "allow c.example", From: "preset open"}, {Rule: "deny a.example:443", From: "box"},
	}
	for text, want := range map[string][]string{
		"a.example:443": {"allow a.example:443", "deny a.example:443"}, "deny a.example:443": {"deny a.example:443"},
		"tcp:b.example": {"deny tcp:b.example", "allow b.example"}, "B.example.": {"allow b.example"}, "c.example": nil, "allow  c.example": nil,
	} {
		spellings, err := eitherRule(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := ownRules(rules, spellings); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
