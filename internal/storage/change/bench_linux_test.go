package change

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// BenchmarkRead reads 10 000 changed files, and has find list the same upper:
// the goal is within three times of it. Work that find does not do is the
// look at the base, and at the content of what has the same size.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ name, old, new string }{
		{"Added", "", "box"},
		{"Modified", "old one", "box"},
		{"ModifiedSameSize", "old", "box"},
		{"PutBack", "box", "box"},
	} {
		f := newFixture(b)
		for i := range 10_000 {
			name := fmt.Sprintf("d%d/f%d", i/100, i)
			write(b, c.new, f.upper, name)
			if c.old != "" {
				write(b, c.old, f.base, name)
			}
		}
		b.Run(c.name, func(b *testing.B) { benchRead(b, f) })
	}
}

// benchRead reads and finds by turns, so that whatever else the machine does
// slows both, and compares the best of each.
func benchRead(b *testing.B, f fixture) {
	b.ReportAllocs()
	read, find := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		err := Read(b.Context(), f.source(), func(forkbox.Change, forkbox.Sides) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		read = min(read, time.Since(start))
		b.StopTimer()
		start = time.Now()
		if err := exec.Command("find", f.upper).Run(); err != nil {
			b.Fatal(err)
		}
		find = min(find, time.Since(start))
		b.StartTimer()
	}
	b.ReportMetric(read.Seconds()*1000, "best-ms")
	b.ReportMetric(find.Seconds()*1000, "find-ms")
	b.ReportMetric(float64(read)/float64(find), "times-find")
}

// BenchmarkReadStack reads the same 10 000 added files from one upper, and from
// twenty layers that have a share of each directory.
func BenchmarkReadStack(b *testing.B) {
	for _, layers := range []int{1, 20} {
		f := newFixture(b)
		for i := range layers - 1 {
			f.layers = append(f.layers, fmt.Sprintf("%s/l%d", filepath.Dir(f.base), i))
		}
		dirs := append([]string{f.upper}, f.layers...)
		for i := range 10_000 {
			write(b, "box", dirs[i%layers], fmt.Sprintf("d%d/f%d", i/100, i))
		}
		b.Run(fmt.Sprint(layers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Read(b.Context(), f.source(), func(forkbox.Change, forkbox.Sides) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
