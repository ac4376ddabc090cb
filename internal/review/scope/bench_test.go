package scope

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// BenchmarkScope sorts 10 000 changed files of 100 directories by 100 rules.
func BenchmarkScope(b *testing.B) {
	reality := with(gitProject, files{"/w/.gitignore": strings.Repeat("*.log\n/build/\nname\na/**/b\nx[0-9]*.tmp\n", 20)})
	changes := benchChanges()
	b.ReportAllocs()
	for b.Loop() {
		s := New("/w", "/people/me", reality.read)
		for _, c := range changes {
			s.Scope(c)
		}
	}
}

// BenchmarkCautions is what an apply of 10 000 files asks.
func BenchmarkCautions(b *testing.B) {
	changes := benchChanges()
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range changes {
			Cautions(c, forkbox.Node{Mode: 0o644}, "/w", "/people/me")
		}
	}
}

func benchChanges() []forkbox.Change {
	var changes []forkbox.Change
	for i := range 10000 {
		p := fmt.Sprintf("/w/src/dir%02d/file%02d.go", i/100, i%100)
		changes = append(changes, forkbox.Change{Path: p, Kind: forkbox.Modified, Type: "file"})
	}
	return changes
}
