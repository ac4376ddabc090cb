package execstream

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Exec is what a [Source] needs of the exec that it belongs to.
type Exec interface {
	// Tap has what is written to a channel from now on kept in a window as well,
	// which begins at the offset where the channel is. It is nil where the exec
	// has no such channel.
	Tap(Channel) *Window
	// Untap ends that.
	Untap(Channel)
}

// Source is init's end: of the reader who started the exec, or of one who joined
// an exec that runs in the background.
type Source struct {
	exec   Exec
	spec   forkbox.StreamSpec
	joined bool   // the exec is not its reader's: it never waits for it
	gone   func() // called once when the reader has gone for good
	in     *input // nil where the exec reads nothing

	mu      sync.Mutex
	windows [3]*Window
	current *reader
	timer   *time.Timer // runs while there is no reader
	over    bool        // the reader has gone for good, or the exec has ended
}

// NewSource is for the reader who starts an exec: everything is kept from the
// beginning. stdin is where to write what the reader sends, nil for nowhere, and
// shut what to do at its end.
func NewSource(exec Exec, spec forkbox.StreamSpec, stdin io.Writer, shut, gone func()) *Source {
	s := newSource(exec, spec, stdin, shut, gone)
	s.tap()
	s.timer = time.AfterFunc(max(spec.Grace, firstReader), s.expire)
	return s
}

// firstReader is how long the daemon may take to attach after the start.
const firstReader = 10 * time.Second

// JoinSource is for a reader who joins an exec that runs already.
func JoinSource(exec Exec, spec forkbox.StreamSpec, stdin io.Writer, shut, gone func()) *Source {
	s := newSource(exec, spec, stdin, shut, gone)
	s.joined = true
	return s
}

func newSource(exec Exec, spec forkbox.StreamSpec, stdin io.Writer, shut, gone func()) *Source {
	s := &Source{exec: exec, spec: spec, gone: gone}
	if stdin != nil {
		s.in = newInput(stdin, shut)
		go s.in.pump(s.tellInput)
	}
	return s
}

func (s *Source) tap() {
	for _, ch := range []Channel{Stdout, Stderr} {
		s.windows[ch] = s.exec.Tap(ch)
	}
}

func (s *Source) untap() {
	for ch, w := range s.windows {
		if w != nil {
			w.Drop()
			s.exec.Untap(Channel(ch))
		}
	}
}

// BelongsTo says whether a reader may take it up again.
func (s *Source) BelongsTo(key string) bool { return key != "" && key == s.spec.Key }

// Over says that no reader can come back to it.
func (s *Source) Over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// Joined says that its reader did not start the exec.
func (s *Source) Joined() bool { return s.joined }

// Attach gives it a reader, who takes the place of the one before. It owns conn.
// What it returns is how far it has read stdin, and where the output begins that
// it sends.
func (s *Source) Attach(conn net.Conn, seen *forkbox.StreamAt) (at forkbox.StreamAt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admit(seen); err != nil {
		conn.Close()
		return at, err
	}
	s.oust()
	if s.joined {
		s.untap()
		s.tap()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	r := &reader{source: s, link: NewLink(conn), windows: s.windows}
	s.begin(r, seen)
	s.current = r
	at = forkbox.StreamAt{Stdout: r.from[Stdout], Stderr: r.from[Stderr]}
	if s.in != nil {
		at.Stdin, _, _ = s.in.state()
	}
	r.start()
	return at, nil
}

func (s *Source) admit(seen *forkbox.StreamAt) error {
	const op = "attach"
	if s.over {
		return forkbox.Errorf(forkbox.NotFound, op, "its output is not kept for a reader any more")
	}
	if seen == nil || s.joined {
		return nil
	}
	for ch, offset := range map[Channel]int64{Stdout: seen.Stdout, Stderr: seen.Stderr} {
		if w := s.windows[ch]; w != nil {
			if _, end := w.bounds(); offset < 0 || offset > end {
				return forkbox.Errorf(forkbox.Invalid, op, "the exec has not written %d bytes yet", offset)
			}
		}
	}
	return nil
}

// begin finds where the output begins that a reader gets.
func (s *Source) begin(r *reader, seen *forkbox.StreamAt) {
	if seen != nil && !s.joined {
		for ch, offset := range map[Channel]int64{Stdout: seen.Stdout, Stderr: seen.Stderr} {
			if w := s.windows[ch]; w != nil {
				w.Ack(offset)
			}
		}
	}
	for ch, w := range s.windows {
		if w != nil {
			r.from[ch], _ = w.bounds()
		}
	}
}

// oust ends the reader before. Its connection may be dead without the daemon's
// knowing, so that it is not waited for.
func (s *Source) oust() {
	r := s.current
	if r == nil {
		return
	}
	s.current = nil
	r.halt()
	go func() {
		_ = r.link.conn.SetDeadline(time.Now().Add(oustTime))
		_ = r.link.Send(Frame{Kind: Ousted})
		r.link.Close()
	}()
}

// oustTime is how long one who is ousted gets to hear of it.
const oustTime = time.Second

// lose is called when a reader's link has ended; left says that it does not come
// back.
func (s *Source) lose(r *reader, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != r {
		return
	}
	s.current = nil
	r.halt()
	switch {
	case s.over:
	case left:
		s.release()
	default:
		if s.joined {
			s.untap()
		}
		s.timer = time.AfterFunc(s.spec.Grace, s.expire)
	}
}

// expire is called when there was no reader for as long as one may take to come
// back.
func (s *Source) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil && !s.over {
		s.release()
	}
}

// release lets the exec go on without a reader. The caller holds mu.
func (s *Source) release() {
	s.over = true
	s.untap()
	switch {
	case s.in == nil:
	case s.joined:
		s.in.end() // another may come and write
	default:
		s.in.close()
	}
	if s.gone != nil {
		go s.gone()
	}
}

// Replace ends it for another source of the same exec.
func (s *Source) Replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oust()
	if !s.over {
		s.release()
	}
}

// Finish is called when the exec has ended and all that it wrote is in the
// windows. It awaits that the reader who started the exec has acknowledged that,
// or does not come back for it.
func (s *Source) Finish(await func(<-chan struct{})) {
	s.mu.Lock()
	windows := s.windows
	s.mu.Unlock()
	for _, w := range windows {
		if w != nil {
			w.End()
			if !s.joined {
				await(w.Settled())
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.in != nil {
		s.in.end()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
}

// take keeps what a reader sent. It is false for one that sends more than it may,
// and for one whose place was taken: the next has heard how far stdin came, and
// sends the rest again.
func (s *Source) take(r *reader, p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current == r && s.in.take(p)
}

// tellInput tells the reader how far the exec's stdin was written.
func (s *Source) tellInput() {
	s.mu.Lock()
	r := s.current
	s.mu.Unlock()
	if r != nil {
		r.tellInput()
	}
}
