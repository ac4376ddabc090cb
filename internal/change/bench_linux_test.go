package change

import (
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// BenchmarkRead reads 10 000 changed files, half of them new.
func BenchmarkRead(b *testing.B) {
	f := newFixture(b)
	for i := range 10_000 {
		name := fmt.Sprintf("d%d/f%d", i/100, i)
		write(b, "box", f.upper, name)
		if i%2 == 0 {
			write(b, "old", f.base, name)
		}
	}
	for b.Loop() {
		n := 0
		err := Read(b.Context(), f.source(), func(forkbox.Change) error { n++; return nil })
		if err != nil || n < 10_000 {
			b.Fatal(n, err)
		}
	}
}
