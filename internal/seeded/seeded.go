// Package seeded makes tests that draw their cases with rapid draw the same
// ones on every run: a change is judged by what it changed, not by its luck.
// A test imports it for that alone. What the same cases do not find, others
// do: go test ./internal/storage/change -rapid.seed=0 -rapid.checks=10000
package seeded

import (
	"flag"

	_ "pgregory.net/rapid" // whose flag it sets
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
