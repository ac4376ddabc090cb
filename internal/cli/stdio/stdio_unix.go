//go:build unix

package stdio

import (
	"os"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Streams is the caller's stdio, as a box may have it.
//
// A box gets the caller's pipes and sockets as they are, and nothing else. A
// terminal could be typed into (TIOCSTI). A file of reality could be reopened
// for writing through /proc/self/fd, or have its mode changed through the open
// descriptor. Those are relayed through a pipe by this process.
type Streams struct {
	Box     forkbox.Stdio // what is handed over
	theirs  []*os.File    // the pipe ends that only the command may hold
	inputs  []inputRelay
	outputs []*outputRelay
}

type inputRelay interface {
	run()
	stop() // returns when nothing more is read from the caller's file
}

// Open takes the caller's files; a nil one is empty. Nothing is relayed
// yet.
func Open(in, out, stderr *os.File) (*Streams, error) {
	s := &Streams{}
	err := s.input(in)
	if err == nil {
		s.Box.Out, err = s.output(out)
	}
	switch {
	case err != nil:
	case sameFile(out, stderr): // one pipe keeps what is written to both in order
		s.Box.Err = s.Box.Out
	default:
		s.Box.Err, err = s.output(stderr)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Box.Extra = inheritedPipes()
	for _, f := range s.Box.Extra {
		s.theirs = append(s.theirs, f)
	}
	return s, nil
}

func (s *Streams) input(in *os.File) error {
	if in == nil || isNull(in) {
		return nil
	}
	if mayHandOver(in) {
		s.Box.In = in
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.Box.In = r
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		s.inputs = append(s.inputs, newFileInput(in, w, r))
		return nil
	}
	s.theirs = append(s.theirs, r)
	relay, err := newLiveInput(in, w)
	if err == nil {
		s.inputs = append(s.inputs, relay)
	}
	return err
}

func (s *Streams) output(out *os.File) (*os.File, error) {
	if out == nil || isNull(out) {
		return nil, nil
	}
	if mayHandOver(out) {
		return out, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs = append(s.theirs, w)
	s.outputs = append(s.outputs, &outputRelay{from: r, to: out, done: make(chan struct{})})
	return w, nil
}

// KeepPipes hands over none but stdin, stdout and stderr: the command runs
// already.
func (s *Streams) KeepPipes() { s.Box.Extra = nil }

// OnDetach calls leave when the user types the keys for it.
func (s *Streams) OnDetach(leave func()) {
	for _, relay := range s.inputs {
		if live, ok := relay.(*liveInput); ok && terminal.IsTerminal(live.from) {
			live.keys, live.leave = &detachKeys{}, leave
		}
	}
}

// HandKeys gives a command that has a terminal every key of the caller's; ctrl-Z
// stops it. The function it returns takes them back.
func (s *Streams) HandKeys(in *os.File, session *client.Session, signals *Signals, size func() forkbox.Size) (takeBack func()) {
	if in == nil || !terminal.IsTerminal(in) {
		return func() {}
	}
	keys := &keyboard{file: in}
	keys.take()
	suspend := &suspender{session: session, signals: signals, size: size, keys: keys}
	signals.mu.Lock()
	signals.suspend = suspend
	signals.mu.Unlock()
	for _, relay := range s.inputs {
		if live, ok := relay.(*liveInput); ok && live.from == in {
			live.suspend = suspend
		}
	}
	return suspend.end
}

// Relay starts moving bytes, once the command holds its ends.
func (s *Streams) Relay() {
	s.closeTheirs()
	for _, relay := range s.inputs {
		go relay.run()
	}
	for _, relay := range s.outputs {
		go relay.run()
	}
}

// lingering is how long output may take to end by itself once the command has.
// Longer is a process in the background that holds it: what is there is taken,
// and no more waited for.
const lingering = 200 * time.Millisecond

// Finish is for when the command has ended: all it wrote is written, and what
// it did not read of a file is as if never read.
func (s *Streams) Finish() {
	late := time.Now().Add(lingering)
	for _, relay := range s.outputs {
		relay.finish(time.Until(late))
	}
	for _, relay := range s.inputs {
		relay.stop()
	}
	s.outputs, s.inputs = nil, nil
}

// Close is for a command that never ran; after finish it does nothing.
func (s *Streams) Close() {
	s.closeTheirs()
	for _, relay := range s.outputs {
		relay.from.Close()
	}
}

func (s *Streams) closeTheirs() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
}

func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	x, errA := a.Stat()
	y, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// isNull says whether f is /dev/null: the box has its own.
func isNull(f *os.File) bool {
	mine, err := f.Stat()
	null, err2 := os.Stat(os.DevNull)
	if err != nil || err2 != nil {
		return false
	}
	a, b := mine.Sys().(*syscall.Stat_t), null.Sys().(*syscall.Stat_t)
	return mine.Mode()&os.ModeCharDevice != 0 && a.Rdev == b.Rdev
}
