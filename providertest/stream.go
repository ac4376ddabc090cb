package providertest

import (
	"bytes"
	"context"
	"io"
	"math/rand"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/execstream"
)

var streamChecks = []check{
	{"AllOfItArrives", allOfItArrives},
	{"LostLinkLosesNothing", lostLinkLosesNothing},
	{"UnacknowledgedOutputIsBounded", unacknowledgedIsBounded},
	{"OneReaderAtATime", oneReaderAtATime},
	{"ReaderWhoLeavesEndsTheExec", readerWhoLeaves},
	{"DetachedExecIsJoined", detachedExecIsJoined},
	{"NoSuchExec", streamOfNoExec},
}

var streamAttachStories = []story{{name: "StreamOutlivesTheDaemon", run: streamOutlives, alone: true}}

// streamKey is what the reader of a test takes its stream up with.
const streamKey = "a key"

// reader reads and writes an exec over a link. It keeps what it got over all of
// its links.
type reader struct {
	t      *testing.T
	r      *Running
	exec   string
	link   *execstream.Link
	stdin  int64 // acknowledged by the exec
	got    [3][]byte
	ended  bool
	ousted bool
}

// readerOf starts an exec and gives it its reader.
func readerOf(t *testing.T, r *Running, spec forkbox.ExecSpec, stream forkbox.StreamSpec) *reader {
	t.Helper()
	stream.Key, stream.Grace = streamKey, patience
	l := &reader{t: t, r: r, exec: r.ID()}
	if err := r.Exec(l.exec, spec, forkbox.Stdio{Stream: &stream}, logCap); err != nil {
		t.Fatal(err)
	}
	l.join(forkbox.StreamJoin{Key: streamKey})
	return l
}

// tryJoin asks for a link to the exec.
func (l *reader) tryJoin(join forkbox.StreamJoin) (*execstream.Link, forkbox.StreamAt, error) {
	l.t.Helper()
	mine, theirs, err := execstream.Pair()
	if err != nil {
		l.t.Fatal(err)
	}
	at, err := l.r.Instance.(forkbox.Streaming).Stream(context.Background(), l.exec, join, theirs)
	if err != nil {
		mine.Close()
	}
	return mine, at, err
}

// join takes the stream up.
func (l *reader) join(join forkbox.StreamJoin) forkbox.StreamAt {
	l.t.Helper()
	link, at, err := l.tryJoin(join)
	if err != nil {
		l.t.Fatalf("stream: %v", err)
	}
	l.t.Cleanup(func() { link.Close() })
	l.link = link
	return at
}

// seen is how far the reader is.
func (l *reader) seen() forkbox.StreamAt {
	return forkbox.StreamAt{Stdout: int64(len(l.got[execstream.Stdout])), Stderr: int64(len(l.got[execstream.Stderr]))}
}

// next takes a frame. It is false at the end of the output or of the link.
func (l *reader) next() bool {
	l.t.Helper()
	f, err := l.link.Receive()
	if err != nil {
		return false
	}
	switch f.Kind {
	case execstream.Data1, execstream.Data2:
		l.got[f.Kind] = append(l.got[f.Kind], f.Data...)
	case execstream.Ack:
		l.stdin = f.Offset
	case execstream.End:
		l.ended = true
	case execstream.Ousted:
		l.ousted = true
	}
	return !l.ended && !l.ousted
}

// acknowledge has the exec go on.
func (l *reader) acknowledge() {
	for _, ch := range []execstream.Channel{execstream.Stdout, execstream.Stderr} {
		_ = l.link.Send(execstream.Frame{Kind: execstream.Ack, Channel: ch, Offset: int64(len(l.got[ch]))})
	}
}

// readAll reads and acknowledges to the end.
func (l *reader) readAll() {
	l.t.Helper()
	for l.next() {
		l.acknowledge()
	}
	l.acknowledge()
	if !l.ended {
		l.t.Fatalf("the link ended after %d bytes and without an end of the output", len(l.got[execstream.Stdout]))
	}
}

// until reads, and acknowledges nothing, until there is so much of stdout.
func (l *reader) until(size int) {
	l.t.Helper()
	for len(l.got[execstream.Stdout]) < size {
		if !l.next() {
			l.t.Fatalf("the stream ended after %d bytes", len(l.got[execstream.Stdout]))
		}
	}
}

// write sends to stdin as the exec reads it, and its end.
func (l *reader) write(data []byte) {
	const window = execstream.InputWindow
	for sent := int64(0); sent < int64(len(data)); {
		for sent-l.stdin >= window {
			if !l.next() {
				return
			}
			l.acknowledge()
		}
		end := min(int64(len(data)), l.stdin+window)
		if l.link.SendData(execstream.Stdin, data[sent:end]) != nil {
			return
		}
		sent = end
	}
	_ = l.link.Send(execstream.Frame{Kind: execstream.EOF})
}

func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.New(rand.NewSource(1)).Read(data)
	return data
}

func allOfItArrives(t *testing.T, r *Running) {
	data := noise(1 << 20)
	l := readerOf(t, r, Shell("cat; echo done >&2; exit 3"), forkbox.StreamSpec{Stdin: true})
	l.write(data)
	l.readAll()
	if !bytes.Equal(l.got[execstream.Stdout], data) || string(l.got[execstream.Stderr]) != "done\n" {
		t.Errorf("%d bytes went in, %d came back or not the same ones; stderr %q", len(data), len(l.got[execstream.Stdout]), l.got[execstream.Stderr])
	}
	if end := r.Wait(l.exec); end.Exit.Code != 3 {
		t.Errorf("ended with %+v", end.Exit)
	}
}

// lostLinkLosesNothing: a reader whose link ends, having acknowledged some of what
// it got, gets the rest over the next one, once.
func lostLinkLosesNothing(t *testing.T, r *Running) {
	data := noise(1 << 20)
	dir := Tree(t, map[string]string{"data": string(data)})
	l := readerOf(t, r, forkbox.ExecSpec{Argv: []string{"cat", dir + "/data"}}, forkbox.StreamSpec{})
	for lost := range 5 {
		l.until((lost + 1) * 40_000)
		if lost%2 == 0 {
			l.acknowledge()
		}
		l.link.Close()
		seen := l.seen()
		if at := l.join(forkbox.StreamJoin{Key: streamKey, Seen: &seen}); at.Stdout != seen.Stdout {
			t.Fatalf("%d bytes were seen, and it goes on at %d", seen.Stdout, at.Stdout)
		}
	}
	l.readAll()
	if !bytes.Equal(l.got[execstream.Stdout], data) {
		t.Errorf("%d bytes were written, %d came or not the same ones", len(data), len(l.got[execstream.Stdout]))
	}
	r.Wait(l.exec)
}

// unacknowledgedIsBounded: an exec whose reader acknowledges nothing is stopped by
// the window, as by a full pipe, and goes on when it does.
func unacknowledgedIsBounded(t *testing.T, r *Running) {
	const size = 4 * execstream.OutputWindow
	l := readerOf(t, r, Shell("head -c "+itoa(size)+" /dev/zero"), forkbox.StreamSpec{})
	l.until(execstream.OutputWindow)
	if got := len(l.got[execstream.Stdout]); got != execstream.OutputWindow {
		t.Errorf("%d bytes came before any was acknowledged, and the window is %d", got, execstream.OutputWindow)
	}
	if n := r.Deliveries(l.exec); n != 0 {
		t.Error("the exec ended, and its reader has not read it")
	}
	l.acknowledge()
	l.readAll()
	if got := len(l.got[execstream.Stdout]); got != size {
		t.Errorf("%d bytes of %d came", got, size)
	}
	r.Wait(l.exec)
}

// oneReaderAtATime: who has the key takes the reader's place, and no other may.
func oneReaderAtATime(t *testing.T, r *Running) {
	l := readerOf(t, r, Shell("read line; echo got $line"), forkbox.StreamSpec{Stdin: true})
	_, _, err := l.tryJoin(forkbox.StreamJoin{Key: "another key"})
	hasCode(t, err, forkbox.Busy)
	old := *l
	l.join(forkbox.StreamJoin{Key: streamKey})
	for old.next() {
	}
	if !old.ousted {
		t.Error("the reader before was not told")
	}
	l.write([]byte("word\n"))
	l.readAll()
	if got := string(l.got[execstream.Stdout]); got != "got word\n" {
		t.Errorf("read %q", got)
	}
	r.Wait(l.exec)
}

// readerWhoLeaves: an exec that is not to outlive its reader ends when that says
// that it does not come back.
func readerWhoLeaves(t *testing.T, r *Running) {
	l := readerOf(t, r, Shell("echo ready; exec sleep 1000"), forkbox.StreamSpec{Kill: true})
	l.until(len("ready\n"))
	if err := l.link.Send(execstream.Frame{Kind: execstream.Leave}); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(l.exec); end.Exit.Cause != forkbox.CauseStopped {
		t.Errorf("ended with %+v", end.Exit)
	}
}

// detachedExecIsJoined: one that no caller reads can be read and written by one who
// joins, and goes on when that leaves.
func detachedExecIsJoined(t *testing.T, r *Running) {
	spec := Shell("while read line; do echo got $line; done")
	spec.Open = true
	l := &reader{t: t, r: r, exec: r.ID()}
	if err := r.Exec(l.exec, spec, forkbox.Stdio{}, logCap); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two"} {
		l.got = [3][]byte{}
		l.join(forkbox.StreamJoin{Key: word})
		if err := l.link.SendData(execstream.Stdin, []byte(word+"\n")); err != nil {
			t.Fatal(err)
		}
		want := "got " + word + "\n"
		l.until(len(want))
		if got := string(l.got[execstream.Stdout]); got != want {
			t.Errorf("read %q", got)
		}
		_ = l.link.Send(execstream.Frame{Kind: execstream.Leave})
		_, _ = io.Copy(io.Discard, frames{l.link})
	}
	if err := r.Instance.Kill(context.Background(), l.exec, 0); err != nil {
		t.Fatal(err)
	}
	r.Wait(l.exec)
}

// frames reads a link to its end.
type frames struct{ link *execstream.Link }

func (f frames) Read([]byte) (int, error) {
	_, err := f.link.Receive()
	return 0, err
}

func streamOfNoExec(t *testing.T, r *Running) {
	l := &reader{t: t, r: r, exec: "999999"}
	_, _, err := l.tryJoin(forkbox.StreamJoin{Key: streamKey})
	hasCode(t, err, forkbox.NotFound)

	l = readerOf(t, r, Shell("echo over"), forkbox.StreamSpec{})
	l.readAll()
	r.Wait(l.exec)
	_, _, err = l.tryJoin(forkbox.StreamJoin{Key: streamKey})
	hasCode(t, err, forkbox.NotFound)
}

// streamOutlives: a reader who had the stream of another daemon takes it up from
// the next.
func streamOutlives(t *testing.T, l *Lab) {
	box := l.Box()
	theirs, ours := l.Pipes()
	defer ours.Close()
	theirs.Stream = &forkbox.StreamSpec{Key: streamKey, Stdin: true, Grace: time.Hour}
	l.Crash(t, box, Command{ID: "1", Spec: l.Fill(box, "1", Shell("echo before; read line; echo got $line")), Stdio: theirs})
	theirs.Close()
	r := l.Attach(box)
	next := &reader{t: t, r: r, exec: "1"}
	if at := next.join(forkbox.StreamJoin{Key: streamKey, Seen: &forkbox.StreamAt{}}); at.Stdout != 0 {
		t.Errorf("it goes on at %d", at.Stdout)
	}
	next.write([]byte("after\n"))
	next.readAll()
	if got := string(next.got[execstream.Stdout]); got != "before\ngot after\n" {
		t.Errorf("read %q", got)
	}
	if end := r.Wait("1"); end.Exit.Code != 0 {
		t.Errorf("ended with %+v", end.Exit)
	}
}

func hasCode(t *testing.T, err error, code forkbox.Code) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code {
		t.Errorf("got %v, want an error with code %s", err, code)
	}
}
