package pool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// TestGrow: while a program writes, which can write on when the pool was full.
func TestGrow(t *testing.T) {
	inOwnMounts(t, 512<<20, func(home string) {
		p := open(t, home)
		block := bytes.Repeat([]byte("forkbox "), 128<<10)
		f, err := os.Create(filepath.Join(p.Dir(), "f"))
		must(t, err)
		for err == nil {
			_, err = f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("a full pool says %v", err)
		}
		before, err := f.Seek(0, 2)
		must(t, err)
		must(t, p.Grow(t.Context(), 1<<30))
		var writer sync.WaitGroup
		writer.Go(func() {
			for range 256 {
				if _, err := f.Write(block); err != nil {
					t.Error(err)
					return
				}
			}
		})
		must(t, p.Grow(t.Context(), 2<<30))
		writer.Wait()
		must(t, f.Close())
		if info, err := os.Stat(f.Name()); err != nil || info.Size() != before+256<<20 {
			t.Errorf("%v, %v", info, err)
		}
		wantSize(t, p, 2<<30)
		if err := p.Grow(t.Context(), 1<<30); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("to less: %v", err)
		}
		must(t, p.Close(t.Context()))
	})
}

// TestTwoHomes: they have nothing to do with each other.
func TestTwoHomes(t *testing.T) {
	inOwnMounts(t, 1<<30, func(home string) {
		other := filepath.Join(t.TempDir(), "other")
		must(t, Init(t.Context(), other, 1<<30))
		a, b := open(t, home), open(t, other)
		must(t, os.WriteFile(filepath.Join(a.Dir(), "f"), nil, 0o600))
		must(t, a.Close(t.Context()))
		if exists(filepath.Join(b.Dir(), "f")) || len(loopsOf(t, other)) != 1 {
			t.Error("one is the other")
		}
		must(t, Remove(t.Context(), other))
		wantNoLoop(t, other)
	})
}
