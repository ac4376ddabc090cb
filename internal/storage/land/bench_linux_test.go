package land

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const manyFiles = 10_000

// manySources makes small files to land: what a box would have written.
func manySources(b *testing.B) string {
	dir := filepath.Join(b.TempDir(), "source")
	for i := range manyFiles {
		p := filepath.Join(dir, fmt.Sprintf("d%02d/f%05d", i/100, i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(p, []byte(strings.Repeat("x", 1000)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	unix.Sync()
	return dir
}

// BenchmarkLandAdded lands 10 000 small files in new directories. Compare
// with BenchmarkCopy: it should take no more than three times as long.
func BenchmarkLandAdded(b *testing.B) { benchmarkLand(b, false) }

// BenchmarkLandReplaced lands them over files that are there.
func BenchmarkLandReplaced(b *testing.B) { benchmarkLand(b, true) }

func benchmarkLand(b *testing.B, replace bool) {
	source := manySources(b)
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, b.TempDir())
		if replace {
			copyTree(b, source, w.root)
		}
		var items []Item
		for d := range manyFiles / 100 {
			if !replace {
				items = append(items, w.putDir(fmt.Sprintf("/d%02d", d), 0o755))
			}
			for i := range 100 {
				it := w.put(fmt.Sprintf("/d%02d/f%05d", d, d*100+i), "")
				it.Bytes, it.Content = nil, openFile(source+it.Path)
				items = append(items, it)
			}
		}
		unix.Sync()
		b.StartTimer()
		w.must(w.land(items...))
	}
}

// BenchmarkCopy is `cp -a` of the same files and one sync.
func BenchmarkCopy(b *testing.B) {
	source := manySources(b)
	for b.Loop() {
		b.StopTimer()
		to := b.TempDir()
		unix.Sync()
		b.StartTimer()
		copyTree(b, source, to)
	}
}

func copyTree(b *testing.B, from, to string) {
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		b.Fatal(string(out), err)
	}
	f, err := os.Open(to)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		b.Fatal(err)
	}
}
