package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEnvironments(t *testing.T) {
	var e environments
	read := func(text string) []string {
		t.Helper()
		env, err := e.read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	first := read(`["A=1","B=2"]`)
	_ = append(first, "C=3")
	if again := read(`["A=1","B=2"]`); !slices.Equal(again, []string{"A=1", "B=2"}) || cap(again) != 2 {
		t.Errorf("%q", again)
	}
	for i := range 5 * knownEnvironments {
		if env := read(fmt.Sprintf(`["N=%d"]`, i)); env[0] != fmt.Sprint("N=", i) {
			t.Errorf("%q", env)
		}
		if len(e.known) > knownEnvironments {
			t.Fatalf("it remembers %d", len(e.known))
		}
	}
	clear(e.known)
	read(`["` + strings.Repeat("x", largeEnvironment) + `"]`)
	if len(e.known) != 0 {
		t.Error("it remembers a large one")
	}
	if _, err := e.read([]byte("no")); err == nil || len(e.known) != 0 {
		t.Error("it remembers what cannot be read")
	}
}
