package ledger

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

// BenchmarkLife is what the ledger costs from create to rm: seven writes.
func BenchmarkLife(b *testing.B) {
	l := opened(b, filepath.Join(b.TempDir(), "ledger.db"))
	defer l.Close()
	for i := 0; b.Loop(); i++ {
		box := ledgertest.Box(fmt.Sprintf("%012x", i), "one", 1)
		check(b, l.AddBox(b.Context(), box))
		box.State = forkbox.Stopped
		check(b, l.UpdateBox(b.Context(), box))
		box.State = forkbox.Running
		check(b, l.UpdateBox(b.Context(), box))
		e, err := l.AddExec(b.Context(), forkbox.Exec{Box: box.ID, Argv: []string{"true"}, Started: time.Now()})
		check(b, err)
		e.Exit = &forkbox.Exit{Cause: forkbox.CauseExited}
		check(b, l.UpdateExec(b.Context(), e))
		box.State = forkbox.Removing
		check(b, l.UpdateBox(b.Context(), box))
		check(b, l.DeleteBox(b.Context(), box.ID))
	}
}

// BenchmarkFind resolves a name among 10 and among 10 000 boxes.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := opened(b, filepath.Join(b.TempDir(), "ledger.db"))
			defer l.Close()
			for i := range n {
				check(b, l.AddBox(b.Context(), ledgertest.Box(fmt.Sprintf("%012x", i), fmt.Sprintf("box-%05d", i), 1)))
			}
			for b.Loop() {
				found, err := l.FindBoxes(b.Context(), 1, "box-00007")
				check(b, err)
				if len(found) != 1 {
					b.Fatalf("found %d", len(found))
				}
			}
		})
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
