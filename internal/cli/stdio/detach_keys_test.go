package stdio

import "testing"

func TestDetachKeys(t *testing.T) {
	for _, row := range []struct {
		typed  []string
		passed string
		detach bool
	}{
		{[]string{"ls\r"}, "ls\r", false},
		{[]string{"a\x10\x11b"}, "a", true},
		{[]string{"a\x10", "\x11"}, "a", true},
		{[]string{"\x10", "x"}, "\x10x", false},
		{[]string{"\x10\x10\x11"}, "\x10", true},
		{[]string{"\x11\x10"}, "\x11", false},
		{[]string{"\x11", "\x10", "\x10", "y"}, "\x11\x10\x10y", false},
	} {
		var keys detachKeys
		passed, left := "", false
		for _, typed := range row.typed {
			rest, detach := keys.pass([]byte(typed))
			passed, left = passed+string(rest), left || detach
		}
		if passed != row.passed || left != row.detach {
			t.Errorf("%q: passed %q, detached %v", row.typed, passed, left)
		}
	}
}
