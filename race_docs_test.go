package forkbox_test

import (
	"os"
	"strings"
	"testing"
)

// What the manual shows is what is parsed in the tests of racefile.
func TestRaceFileInTheManual(t *testing.T) {
	manual, err := os.ReadFile("docs/RACE.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("internal/race/racefile/testdata/race.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(manual), "```yaml\n"+strings.TrimRight(string(file), "\n")+"\n```") {
		t.Error("docs/RACE.md does not show internal/race/racefile/testdata/race.yaml")
	}
}
