package sums

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// sparse makes a file with a hole of each length, and something after it.
func sparse(t *testing.T, size int64, at ...int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatalf("no file of %d bytes here: %v", size, err)
	}
	for _, off := range at {
		if _, err := f.WriteAt([]byte("data"), off); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestSumDoesNotDependOnHoles: a copy of a file may have its zeros written.
func TestSumDoesNotDependOnHoles(t *testing.T) {
	sums := map[[32]byte]int64{}
	for _, size := range []int64{4, 5, 4096, zeroBlock - 1, zeroBlock, zeroBlock + 1, 2 * zeroBlock, 5*zeroBlock + 7, 9 * zeroBlock} {
		for _, at := range []int64{0, zeroBlock - 2, zeroBlock, 3*zeroBlock + 5, size - 4} {
			if at < 0 || at+4 > size {
				continue
			}
			f := sparse(t, size, at)
			got, err := Of(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			if got != OfBytes(text) {
				t.Errorf("%d bytes, data at %d: another sum when the zeros are written", size, at)
			}
			if before, same := sums[got]; same && before != size<<20+at {
				t.Errorf("%d bytes, data at %d: the sum of another file", size, at)
			}
			sums[got] = size<<20 + at
		}
	}
}

// TestSumIsPlainWithoutZeros: receipts of earlier versions have plain sums.
func TestSumIsPlainWithoutZeros(t *testing.T) {
	for _, n := range []int{0, 1, zeroBlock, 3*zeroBlock + 1} {
		text := bytes.Repeat([]byte{1}, n)
		if OfBytes(text) != sha256.Sum256(text) {
			t.Errorf("%d bytes: not their SHA-256", n)
		}
	}
}

// TestSumReadsNoHoles would take an hour if it did.
func TestSumReadsNoHoles(t *testing.T) {
	empty, err := Of(t.Context(), sparse(t, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	some, err := Of(t.Context(), sparse(t, 1<<40, 1<<39))
	if err != nil || some == empty {
		t.Errorf("what is in the middle is not in the sum: %v", err)
	}
}

func TestSumEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Of(ctx, sparse(t, 1<<20, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
}
