package boxfiles

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// liar is an agent that says whatever a hostile box comes up with.
func liar(t *testing.T, say func(*Frames)) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		f := NewFrames(theirs)
		if _, _, err := f.Next(); err == nil {
			say(f)
		}
	}()
	t.Cleanup(func() { ours.Close() })
	return ours
}

// TestTheWordsOfABoxAreCutAndCleaned: an error that a box made up has a code that
// files can have, names what the daemon did, and is short.
func TestTheWordsOfABoxAreCutAndCleaned(t *testing.T) {
	t.Parallel()
	conn := liar(t, func(f *Frames) {
		made := forkbox.Errorf(forkbox.Unavailable, "apply everything", "%s\xff", strings.Repeat("x", 5000))
		made.Hint("1").Hint("2").Hint("3").About("/etc/shadow", "yes")
		_ = f.Say(End, Outcome{Error: made})
	})
	_, err := Describe(context.Background(), conn, "look at /a", Request{Op: OpStat})
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != forkbox.Internal || e.Op != "look at /a" || len(e.Why) > longestWhy || len(e.Hints) != 2 || len(e.Items) != 0 {
		t.Errorf("got %#v", err)
	}
}

func TestAnAgentThatMakesNoSenseFailsOneRequest(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(*Frames){
		"ends at once":                 func(*Frames) {},
		"sends no JSON":                func(f *Frames) { _ = f.Put(End, []byte("{")) },
		"answers without an answer":    func(f *Frames) { _ = f.Say(End, Outcome{}) },
		"sends a file of minus a byte": func(f *Frames) { _ = f.Say(Message, Info{Size: -1}) },
	} {
		ctx := context.Background()
		if _, err := Describe(ctx, liar(t, say), "look", Request{}); err == nil {
			t.Errorf("one that %s: stat succeeded", name)
		}
		if r, err := Open(ctx, liar(t, say), "read", Request{}); err == nil {
			_, err = io.ReadAll(r)
			t.Errorf("one that %s: read succeeded, %v", name, err)
		}
		if _, err := Send(ctx, liar(t, say), "write", Request{}, strings.NewReader("x")); err == nil {
			t.Errorf("one that %s: write succeeded", name)
		}
	}
}

// TestAListingEnds, whatever the box lists.
func TestAListingEnds(t *testing.T) {
	t.Parallel()
	conn := liar(t, func(f *Frames) {
		for f.Say(Message, Page{Entries: make([]Info, 1000)}) == nil {
		}
	})
	seen := 0
	_, err := List(context.Background(), conn, "list", Request{}, func(Info) error { seen++; return nil })
	if err == nil || seen > MaxPage {
		t.Errorf("%d entries, %v", seen, err)
	}
}

// TestABodyThatBreaksOffIsNoEnd: the agent must not take half a file for a whole.
func TestABodyThatBreaksOffIsNoEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan bool, 1)
	conn := liar(t, func(f *Frames) {
		_ = f.Say(Message, Info{})
		for {
			kind, _, err := f.Next()
			if err != nil || kind == End {
				ended <- err == nil
				return
			}
		}
	})
	body := io.MultiReader(strings.NewReader("half"), brokenReader{})
	if _, err := Send(context.Background(), conn, "write", Request{}, body); err == nil {
		t.Error("it was written")
	}
	if <-ended {
		t.Error("the agent was told that it was all")
	}
}

// TestABodyMayTakeLong: however long after its request a body comes, all of it is
// sent.
func TestABodyMayTakeLong(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	agent := liar(t, func(f *Frames) {
		_ = f.Say(Message, Info{})
		var text []byte
		for {
			kind, piece, err := f.Next()
			if err != nil || kind == End {
				got <- string(text)
				_ = f.Say(End, Outcome{})
				return
			}
			text = append(text, piece...)
		}
	})
	conn := &ageing{Conn: agent}
	body := io.MultiReader(strings.NewReader("early, "), passing{conn}, strings.NewReader("late"))
	if _, err := Send(t.Context(), conn, "write", Request{}, body); err != nil {
		t.Error(err)
	}
	if text := <-got; text != "early, late" {
		t.Errorf("the agent got %q", text)
	}
}

// ageing is a connection for which all the time that a deadline leaves can pass at once.
type ageing struct {
	net.Conn
	mu            sync.Mutex
	bounded, late bool
}

func (c *ageing) SetWriteDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bounded = !at.IsZero()
	return nil
}

func (c *ageing) Write(p []byte) (int, error) {
	c.mu.Lock()
	over := c.bounded && c.late
	c.mu.Unlock()
	if over {
		c.Conn.Close() // an agent that hears nothing more ends
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(p)
}

// passing is the part of a body in which time passes and nothing comes.
type passing struct{ *ageing }

func (p passing) Read([]byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = true
	return 0, io.EOF
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a": "/a", "a/b": "/w/a/b", ".": "/w/.", "../x": "/w/../x"} {
		got, err := CheckPath("read", path, "/w/")
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "a\x00b", "/" + strings.Repeat("x", MaxPath)} {
		if _, err := CheckPath("read", path, "/"); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%.10q: %v", path, err)
		}
	}
}
