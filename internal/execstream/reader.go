package execstream

import (
	"sync"
	"sync/atomic"
)

// reader is one connection of a source.
type reader struct {
	source  *Source
	link    *Link
	windows [3]*Window
	from    [3]int64
	stop    atomic.Bool
}

func (r *reader) start() {
	var sending sync.WaitGroup
	for ch, w := range r.windows {
		if w != nil {
			sending.Go(func() { r.send(Channel(ch), w) })
		}
	}
	go func() {
		sending.Wait()
		if !r.stop.Load() {
			_ = r.link.Send(Frame{Kind: End})
		}
	}()
	go func() {
		r.tellInput()
		left := r.listen()
		r.link.Close()
		r.source.lose(r, left)
	}()
}

// halt ends the sending.
func (r *reader) halt() {
	r.stop.Store(true)
	for _, w := range r.windows {
		if w != nil {
			w.Wake()
		}
	}
}

// send sends what is in a window, as it comes.
func (r *reader) send(ch Channel, w *Window) {
	buf := make([]byte, MaxData)
	for from := r.from[ch]; ; {
		at, n := w.Read(from, buf, &r.stop)
		if n == 0 {
			return
		}
		if r.link.SendData(ch, buf[:n]) != nil {
			r.stop.Store(true)
			return // listen sees it too
		}
		from = at + int64(n)
	}
}

// listen obeys the daemon until the link ends. It never waits for the exec:
// acknowledgements may come behind what the exec does not read.
func (r *reader) listen() (left bool) {
	in := r.source.in
	for {
		f, err := r.link.Receive()
		if err != nil {
			return false
		}
		switch f.Kind {
		case Data0:
			if in != nil && !r.source.take(r, f.Data) {
				return false
			}
		case EOF:
			if in != nil {
				in.close()
			}
		case Ack:
			if w := r.windows[f.Channel]; w != nil {
				w.Ack(f.Offset)
			}
		case Refuse:
			r.refuse(f.Channel)
		case Leave:
			return true
		}
	}
}

// refuse breaks a channel of the exec, as it breaks the pipe of a reader who closes
// it. An exec in the background is not broken by one who looks on.
func (r *reader) refuse(ch Channel) {
	w := r.windows[ch]
	switch {
	case w == nil:
	case r.source.joined:
		w.Drop()
	default:
		w.Refuse()
	}
}

// tellInput says how far stdin was written, and that nothing reads it.
func (r *reader) tellInput() {
	broken := true
	if in := r.source.in; in != nil {
		var written int64
		_, written, broken = in.state()
		_ = r.link.Send(Frame{Kind: Ack, Channel: Stdin, Offset: written})
	}
	if broken {
		_ = r.link.Send(Frame{Kind: Broken})
	}
}
