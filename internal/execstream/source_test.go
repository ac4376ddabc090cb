package execstream

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// fakeExec is an exec whose output is written by the test.
type fakeExec struct {
	mu     sync.Mutex
	window map[Channel]*Window
	total  map[Channel]int64
}

func newFakeExec() *fakeExec {
	return &fakeExec{window: map[Channel]*Window{}, total: map[Channel]int64{}}
}

func (f *fakeExec) Tap(ch Channel) *Window {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := NewWindow(f.total[ch], OutputWindow)
	f.window[ch] = w
	return w
}

func (f *fakeExec) Untap(ch Channel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window[ch] = nil
}

func (f *fakeExec) write(ch Channel, p []byte) {
	f.mu.Lock()
	w := f.window[ch]
	f.total[ch] += int64(len(p))
	f.mu.Unlock()
	if w != nil {
		w.Write(p)
	}
}

// attach is a reader that a test plays.
func attach(t *testing.T, s *Source, seen *forkbox.StreamAt) (*Link, forkbox.StreamAt) {
	t.Helper()
	mine, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mine.Close() })
	conn, err := net.FileConn(theirs)
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Attach(conn, seen)
	if err != nil {
		t.Fatal(err)
	}
	return mine, at
}

const forever = time.Hour

func TestWindowHoldsItsWriter(t *testing.T) {
	w := NewWindow(0, 10)
	done := make(chan struct{})
	go func() { w.Write([]byte("0123456789abc")); close(done) }()
	var stop atomic.Bool
	buf := make([]byte, 20)
	for at, n := int64(0), 0; at+int64(n) < 10; {
		at, n = w.Read(0, buf, &stop)
	}
	select {
	case <-done:
		t.Fatal("it took more than its limit")
	default:
	}
	w.Ack(5)
	<-done
	at, n := w.Read(5, buf, &stop)
	if string(buf[:n]) != "56789abc" || at != 5 {
		t.Errorf("%q at %d", buf[:n], at)
	}
	if at, n := w.Read(0, buf, &stop); at != 5 || n != 8 {
		t.Errorf("what was acknowledged: %d bytes at %d", n, at)
	}
	w.End()
	w.Ack(13)
	<-w.Settled()
}

// A reader that is lost again and again, at whatever byte, gets what was written,
// once; and so does the exec of what the reader sends.
func TestNothingIsLostOrDoubled(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	out, in := make([]byte, 3<<20), make([]byte, 1<<20)
	random.Read(out)
	random.Read(in)
	exec := newFakeExec()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSource(exec, forkbox.StreamSpec{Key: "k", Grace: forever}, w, func() { w.Close() }, nil)
	ended, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		go func() {
			defer close(written)
			for rest := out; len(rest) > 0; {
				n := min(len(rest), 1+random.Intn(50_000))
				exec.write(Stdout, rest[:n])
				rest = rest[n:]
			}
		}()
		all, _ := io.ReadAll(r)
		if !bytes.Equal(all, in) {
			t.Errorf("%d bytes of stdin came of %d", len(all), len(in))
		}
		<-written
		s.Finish(func(ready <-chan struct{}) { <-ready })
	}()
	cuts := rand.New(rand.NewSource(2))
	var got []byte
	sent := int64(0)
	for cut := true; cut; {
		got, sent, cut = playReader(t, s, cuts, got, in, sent)
	}
	<-ended
	if sha256.Sum256(got) != sha256.Sum256(out) {
		t.Errorf("%d bytes arrived of %d", len(got), len(out))
	}
}

// playReader reads and writes until the end, or until it cuts the link.
func playReader(t *testing.T, s *Source, cuts *rand.Rand, got, in []byte, sent int64) ([]byte, int64, bool) {
	t.Helper()
	link, at := attach(t, s, &forkbox.StreamAt{Stdout: int64(len(got))})
	if at.Stdout != int64(len(got)) || at.Stdin > sent {
		t.Fatalf("it goes on at %+v after %d and %d", at, len(got), sent)
	}
	sent = at.Stdin
	allowance, acked := int64(0), len(got)
	for frames := 1 + cuts.Intn(40); ; frames-- {
		f, err := link.Receive()
		switch {
		case err != nil:
			t.Fatal(err)
		case f.Kind == Data1:
			got = append(got, f.Data...)
			if cuts.Intn(3) > 0 || len(got)-acked > OutputWindow/2 {
				acked = len(got)
				link.Send(Frame{Kind: Ack, Channel: Stdout, Offset: int64(len(got))})
			}
		case f.Kind == Ack:
			allowance = f.Offset + InputWindow
		}
		if frames == 0 {
			link.Close()
			return got, sent, true
		}
		if n := min(allowance-sent, int64(len(in))-sent, 20_000); n > 0 {
			link.SendData(Stdin, in[sent:sent+n])
			sent += n
		}
		if sent == int64(len(in)) && len(got) == 3<<20 {
			link.Send(Frame{Kind: Ack, Channel: Stdout, Offset: int64(len(got))})
			link.Send(Frame{Kind: EOF})
			link.Send(Frame{Kind: Leave})
			return got, sent, false
		}
	}
}

func TestReaderThatLeavesIsGoneAtOnce(t *testing.T) {
	exec, gone := newFakeExec(), make(chan struct{})
	s := NewSource(exec, forkbox.StreamSpec{Key: "k", Grace: forever}, nil, nil, func() { close(gone) })
	link, _ := attach(t, s, nil)
	link.Send(Frame{Kind: Leave})
	<-gone
	exec.write(Stdout, make([]byte, 2*OutputWindow)) // does not wait any more
	if !s.Over() {
		t.Error("it waits for a reader")
	}
}

func TestReaderThatDoesNotComeBackIsGone(t *testing.T) {
	exec, gone := newFakeExec(), make(chan struct{})
	s := NewSource(exec, forkbox.StreamSpec{Key: "k", Grace: time.Millisecond}, nil, nil, func() { close(gone) })
	link, _ := attach(t, s, nil)
	select {
	case <-gone:
		t.Fatal("it is attached")
	case <-time.After(20 * time.Millisecond):
	}
	link.Close()
	<-gone
}

func TestNewReaderOustsTheOld(t *testing.T) {
	s := NewSource(newFakeExec(), forkbox.StreamSpec{Key: "k", Grace: forever}, nil, nil, nil)
	old, _ := attach(t, s, nil)
	attach(t, s, nil)
	for {
		f, err := old.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == Ousted {
			return
		}
	}
}

// An exec in the background does not wait for one who only looks on and is lost.
func TestJoinedReaderHoldsNothingUp(t *testing.T) {
	exec := newFakeExec()
	exec.write(Stdout, []byte("before"))
	s := JoinSource(exec, forkbox.StreamSpec{Key: "k", Grace: forever}, nil, nil, nil)
	link, at := attach(t, s, nil)
	if at.Stdout != int64(len("before")) {
		t.Errorf("it begins at %d", at.Stdout)
	}
	link.Close()
	for range 100 {
		exec.write(Stdout, make([]byte, OutputWindow))
	}
	_, at = attach(t, s, nil)
	if want := int64(len("before") + 100*OutputWindow); at.Stdout != want {
		t.Errorf("it goes on at %d, not %d", at.Stdout, want)
	}
	s.Finish(func(<-chan struct{}) { t.Error("its end waits for one who looks on") })
}

func TestMoreStdinThanAllowedEndsTheLink(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := NewSource(newFakeExec(), forkbox.StreamSpec{Key: "k", Grace: forever}, w, func() {}, nil)
	link, _ := attach(t, s, nil)
	for range 100 {
		if link.SendData(Stdin, make([]byte, InputWindow)) != nil {
			return
		}
	}
	t.Error("it takes whatever comes")
}

// FuzzReceive: whatever root in a box sends, what is read is bounded and one of
// the frames that there are.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 3, 'a', 'b', 'c'})
	f.Add([]byte{byte(Ack), 0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0, 5})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		a, b := net.Pipe()
		go func() { a.Write(text); a.Close() }()
		for link := NewLink(b); ; {
			frame, err := link.Receive()
			if err != nil {
				return
			}
			if frame.Kind >= beyond || len(frame.Data) > MaxData || frame.Offset < 0 {
				t.Errorf("%+v", frame)
			}
		}
	})
}
