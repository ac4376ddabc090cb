package execlog

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func create(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "1.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// output collects what a log holds, by stream.
func output(t testing.TB, path string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := Read(t.Context(), path, false, nil, func(r forkbox.LogRecord) error {
		got[r.Stream] += string(r.Data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRoundTrip(t *testing.T) {
	f := create(t)
	w := NewWriter(f, 1<<30)
	big := strings.Repeat("0123456789abcdef", 10_000)
	w.Write(Stdout, []byte("one "))
	w.Write(Stderr, []byte("oops"))
	w.Write(Stdout, nil)
	w.Write(Stdout, []byte(big))
	if _, _, ok := End(f.Name()); ok {
		t.Error("it has an end before End")
	}
	exit := forkbox.Exit{Code: 137, Signal: "KILL", Cause: forkbox.CauseSignalled}
	if err := w.End(exit); err != nil {
		t.Fatal(err)
	}
	w.Write(Stdout, []byte("late"))
	got := output(t, f.Name())
	if got["stdout"] != "one "+big || got["stderr"] != "oops" || len(got) != 2 {
		t.Errorf("read back %d and %d bytes", len(got["stdout"]), len(got["stderr"]))
	}
	gotExit, out, ok := End(f.Name())
	want := forkbox.Output{Kept: int64(8 + len(big)), Cap: 1 << 30}
	if !ok || gotExit != exit || out != want {
		t.Errorf("End = %+v %+v %v", gotExit, out, ok)
	}
	if w.Output().Dropped != 4 {
		t.Errorf("Output = %+v: what came after the end is dropped", w.Output())
	}
}

func TestCap(t *testing.T) {
	for limit, want := range map[int64]string{-1: "", 0: "", 3: "abc", 5: "abcde", 6: "abcdef", math.MaxInt64: "abcdef"} {
		f := create(t)
		w := NewWriter(f, limit)
		w.Write(Stdout, []byte("abcd"))
		w.Write(Stdout, []byte("ef"))
		if got := output(t, f.Name())["stdout"]; got != want {
			t.Errorf("cap %d keeps %q", limit, got)
		}
		out := w.Output()
		if out.Kept != int64(len(want)) || out.Kept+out.Dropped != 6 {
			t.Errorf("cap %d: %+v", limit, out)
		}
	}
}

func TestConcurrentWriters(t *testing.T) {
	f := create(t)
	w := NewWriter(f, 1<<20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				w.Write(Stdout, []byte("line\n"))
			}
		})
	}
	wg.Wait()
	if got := output(t, f.Name())["stdout"]; got != strings.Repeat("line\n", 800) {
		t.Errorf("%d bytes, or lines were mixed", len(got))
	}
}

// A full disk must not fail the exec, and must not claim to have kept output.
func TestWriteErrorsStick(t *testing.T) {
	f := create(t)
	readOnly, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	for _, file := range []*os.File{readOnly, nil} {
		w := NewWriter(file, 100)
		w.Write(Stdout, []byte("lost"))
		w.Write(Stderr, []byte("too"))
		if out := w.Output(); out.Kept != 0 || out.Dropped != 7 {
			t.Errorf("Output = %+v", out)
		}
	}
}

func TestFullDisk(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no /dev/full")
	}
	defer f.Close()
	w := NewWriter(f, 100)
	w.Write(Stdout, []byte("lost"))
	if out := w.Output(); out.Kept != 0 || out.Dropped != 4 {
		t.Errorf("Output = %+v", out)
	}
	if err := w.End(forkbox.Exit{}); err == nil {
		t.Error("End says that it was written")
	}
}

func TestNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	err := Read(t.Context(), path, false, nil, nil)
	if forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("Read = %v", err)
	}
	if _, _, ok := End(path); ok {
		t.Error("no log has an end")
	}
}

func TestTail(t *testing.T) {
	f := create(t)
	NewWriter(f, 100).Write(Stderr, []byte("the first and the last words"))
	for size, want := range map[int64]string{5: "words", 10: "last words", 1 << 20: "the first and the last words"} {
		got, err := Tail(f.Name(), size)
		if err != nil || !strings.HasSuffix(string(got), want) || int64(len(got)) > size {
			t.Errorf("of %d bytes it has %q, %v", size, got, err)
		}
	}
	if _, err := Tail(f.Name()+"x", 5); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("what was not kept: %v", err)
	}
}

func TestTornTail(t *testing.T) {
	f := create(t)
	w := NewWriter(f, 100)
	w.Write(Stdout, []byte("whole "))
	w.Write(Stdout, []byte("torn"))
	whole := 2*headerSize + len("whole torn")
	for size := whole; size >= 0; size-- {
		if err := f.Truncate(int64(size)); err != nil {
			t.Fatal(err)
		}
		if got := output(t, f.Name())["stdout"]; !strings.HasPrefix("whole torn", got) {
			t.Errorf("%d bytes read as %q", size, got)
		}
	}
}

func TestHostileRecords(t *testing.T) {
	now := time.Unix(0, math.MinInt64)
	rec := func(s Stream, length int, data string) string {
		return string(appendHeader(nil, s, now, length)) + data
	}
	for name, c := range map[string]struct{ log, want string }{
		"length beyond the file": {rec('o', math.MaxUint32, "abc"), "abc"},
		"unknown stream":         {rec('o', 3, "abc") + rec('?', 3, "def") + rec('o', 3, "ghi"), "abc"},
		"zeros":                  {rec('o', 3, "abc") + strings.Repeat("\x00", 1000), "abc"},
		"empty records":          {strings.Repeat(rec('o', 0, ""), 1000) + rec('o', 3, "abc"), "abc"},
		"an end that is none":    {rec('x', 3, "{{{") + rec('o', 3, "abc"), "abc"},
		"an end of no length":    {rec('x', 0, "") + rec('o', 3, "abc"), "abc"},
		"an end too long":        {rec('x', maxEnd+1, strings.Repeat(" ", maxEnd+1)) + rec('o', 3, "abc"), "abc"},
		"an endless end":         {rec('x', math.MaxUint32, "{}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := create(t)
			f.WriteString(c.log)
			if got := output(t, f.Name())["stdout"]; got != c.want {
				t.Errorf("read %q, want %q", got, c.want)
			}
			if _, _, ok := End(f.Name()); ok {
				t.Error("it has an end")
			}
		})
	}
}

func TestLastEndCounts(t *testing.T) {
	f := create(t)
	for _, code := range []int{1, 2, 3} {
		if err := NewWriter(f, 0).End(forkbox.Exit{Code: code, Why: strings.Repeat("\x01", maxEnd)}); err != nil {
			t.Fatal(err)
		}
	}
	if exit, _, ok := End(f.Name()); !ok || exit.Code != 3 {
		t.Errorf("End = %v, %v", exit.Code, ok)
	}
}

// follow reads a log that grows, and hands over what it has read so far.
func follow(t *testing.T, path string, ended func() bool) (chunks chan string, result chan error) {
	chunks, result = make(chan string), make(chan error, 1)
	go func() {
		result <- Read(t.Context(), path, true, ended, func(r forkbox.LogRecord) error {
			chunks <- string(r.Data)
			return nil
		})
	}()
	return chunks, result
}

func TestFollowUntilEnd(t *testing.T) {
	f := create(t)
	w := NewWriter(f, 100)
	chunks, result := follow(t, f.Name(), nil)
	for _, s := range []string{"one", "two", "three"} {
		w.Write(Stdout, []byte(s))
		if got := <-chunks; got != s {
			t.Fatalf("read %q, want %q", got, s)
		}
	}
	w.End(forkbox.Exit{})
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// The box died: there is no end record, and what was written last is read.
func TestFollowUntilEnded(t *testing.T) {
	f := create(t)
	w := NewWriter(f, 100)
	var dead atomic.Bool
	chunks, result := follow(t, f.Name(), func() bool {
		if !dead.Swap(true) {
			return false
		}
		w.Write(Stderr, []byte("last words"))
		return true
	})
	if got := <-chunks; got != "last words" {
		t.Errorf("read %q", got)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestFollowCancelled(t *testing.T) {
	f := create(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Read(ctx, f.Name(), true, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v", err)
	}
}

func TestYieldStops(t *testing.T) {
	f := create(t)
	NewWriter(f, 100).Write(Stdout, []byte("x"))
	stop := errors.New("stop")
	err := Read(t.Context(), f.Name(), true, nil, func(forkbox.LogRecord) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("Read = %v", err)
	}
}

// FuzzParser: whatever root in a box wrote into the log, reading it ends,
// never hands out more than there is, and keeps to its chunk size.
func FuzzParser(f *testing.F) {
	now := time.Unix(1, 0)
	f.Add(append(appendHeader(nil, Stdout, now, 3), "abc"...))
	f.Add(append(appendHeader(nil, end, now, 2), "{}"...))
	f.Add(appendHeader(nil, Stderr, now, math.MaxUint32))
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, quiet := range []bool{false, true} {
			p, total := &parser{src: bytes.NewReader(log), quiet: quiet}, 0
			err := p.all(context.Background(), func(r forkbox.LogRecord) error {
				if len(r.Data) > maxChunk {
					t.Fatalf("a chunk of %d bytes", len(r.Data))
				}
				total += len(r.Data)
				return nil
			})
			if err != nil || total > len(log) {
				t.Fatalf("%d bytes of %d, %v", total, len(log), err)
			}
		}
	})
}
