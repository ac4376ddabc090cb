package rules

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestRememberedRulesAreTheSame: a text means the same the second time, and what
// was wrong stays wrong.
func TestRememberedRulesAreTheSame(t *testing.T) {
	for _, text := range []string{"allow GET,HEAD api.example.com:443,8000-9000", "deny  *.example.org", "allow udp:192.0.2.0/24:53", "allow a.example/v1/**"} {
		first, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fresh, _ := parse(text)
		again, err := Parse(text)
		if err != nil || !reflect.DeepEqual(first, again) || !reflect.DeepEqual(first, fresh) {
			t.Errorf("%q is %+v, then %+v, %v", text, first, again, err)
		}
		if r, _ := read(text); r.text != first.String() {
			t.Errorf("%q is written %q, not %q", text, r.text, first)
		}
	}
	for range 2 {
		if _, err := Parse("allow 127.0.0.1"); err == nil {
			t.Error("the loopback is allowed")
		}
	}
}

// TestMemoIsBounded: a user who may make boxes can send any number of rules.
func TestMemoIsBounded(t *testing.T) {
	for i := range 3 * memoMost {
		if _, err := Parse(fmt.Sprintf("allow h%d.example", i)); err != nil {
			t.Fatal(err)
		}
	}
	long := "allow " + strings.Repeat("a.", 125) + "example:1,2,3,4,5"
	path := "allow large.example/" + strings.Repeat("a*", 8)
	for _, text := range []string{long, path} {
		if _, err := Parse(text); text == path && err != nil {
			t.Fatal(err)
		}
		if _, kept := memo.all[text]; kept {
			t.Errorf("%q is remembered", text)
		}
	}
	if n := len(memo.all); n == 0 || n > memoMost {
		t.Errorf("%d rules are remembered", n)
	}
}
