package change

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

// A directory with more names than are looked at together, of every sort.
func TestLargeDirectory(t *testing.T) {
	f, src := handmade(t)
	var want []string
	for i := range 5 * batchSize {
		name := fmt.Sprintf("f%04d", i)
		switch i % 5 {
		case 0:
			write(t, "same", f.base, name)
			write(t, "same", f.upper, name)
		case 1:
			write(t, "old", f.base, name)
			write(t, "new", f.upper, name)
			want = append(want, "modified file /"+name)
		case 2:
			write(t, "new", f.upper, name)
			want = append(want, "added file /"+name)
		case 3:
			write(t, "x", f.base, name)
			write(t, "x", f.upper, name)
			os.Chmod(f.upper+"/"+name, 0o600)
			want = append(want, "mode file /"+name+" (mode)")
		case 4:
			write(t, "x", f.upper, name, "x")
			want = append(want, "added dir /"+name, "added file /"+name+"/x")
		}
	}
	if got := lines(changes(t, src)); !slices.Equal(got, want) {
		t.Errorf("%d changes, want %d: %q", len(got), len(want), got)
	}
}

// Memory is what one directory for each level takes, however much changed.
func TestMemoryDoesNotGrow(t *testing.T) {
	f, src := handmade(t)
	const dirs, files = 100, 100
	for i := range dirs * files {
		write(t, "x", f.upper, fmt.Sprintf("d%03d/f%d", i/files, i))
	}
	var early, late uint64
	n := 0
	err := Read(t.Context(), src, func(forkbox.Change, forkbox.Sides) error {
		switch n++; n {
		case dirs * files / 20:
			early = heap()
		case dirs * files:
			late = heap()
		}
		return nil
	})
	if err != nil || early == 0 || late == 0 {
		t.Fatalf("%d changes, %v", n, err)
	}
	if late > early+64<<10 {
		t.Errorf("%d bytes early on, %d at the end", early, late)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
