package layers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkSave shows that the snapshot of an idle box costs the same whatever
// it has written, and what that of a busy one costs.
func BenchmarkSave(b *testing.B) {
	for _, still := range []bool{true, false} {
		for _, files := range []int{10, 1000} {
			b.Run(fmt.Sprintf("still=%v/files=%d", still, files), func(b *testing.B) { benchmarkSave(b, files, still) })
		}
	}
}

func benchmarkSave(b *testing.B, files int, still bool) {
	s := place{b.TempDir(), "overlay"}.open(b)
	upper := newBox(b, s, "b")
	for i := range files {
		dir := filepath.Join(upper, fmt.Sprint(i/100))
		must(b, os.MkdirAll(dir, 0o755))
		write(b, filepath.Join(dir, fmt.Sprint(i)), "some text")
	}
	layer := 0
	for b.Loop() {
		layer++
		id := fmt.Sprint("L", layer)
		_, err := s.Save(context.Background(), "b", id, still)
		must(b, err)
		b.StopTimer()
		if still { // back, for the next
			must(b, rename(s.layer(id), s.Top("b")))
		} else {
			must(b, s.RemoveLayer(context.Background(), id))
		}
		b.StartTimer()
	}
	must(b, s.Remove(context.Background(), "b"))
}
