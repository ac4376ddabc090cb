package agent

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/forkbox/forkbox/internal/boxfiles"
)

// TestAListingIsFlatInMemory: of a directory with a hundred thousand names all come
// in pages, and an agent never holds more of them than a page has.
func TestAListingIsFlatInMemory(t *testing.T) {
	w := newWorld(t)
	const all, page = 100_000, boxfiles.MaxPage
	for i := range all {
		if err := os.Symlink("x", w.path(fmt.Sprintf("name-%06d", i))); err != nil {
			t.Fatal(err)
		}
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, seen, last := held(), uint64(0), 0, ""
	for after := ""; ; {
		req := w.request(boxfiles.OpList, ".")
		req.After, req.Limit, req.Depth = []byte(after), page, 1
		next, err := boxfiles.List(w.ctx, w.dial(t), "list", req, func(info boxfiles.Info) error {
			if name := string(info.Path); name <= last {
				t.Fatalf("%q comes after %q", name, last)
			} else {
				last = name
			}
			if seen++; seen%page == page/2 {
				most = max(most, held())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if after = string(next); after == "" {
			break
		}
	}
	if seen != all {
		t.Errorf("%d names of %d", seen, all)
	}
	const room = 32 << 20 // for a page of names and what is said of each; all of them would take some 80 MiB
	if most > before+room {
		t.Errorf("it holds %d bytes more than before", most-before)
	}
	t.Logf("%d bytes before, %d at most", before, most)
}
