package client

import (
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox/api"
)

// feeder sends a file of the caller to an exec as its stdin. It keeps what the exec
// has not read yet, and reads no further ahead than that may be.
type feeder struct {
	stream *stream
	file   *os.File
	closes bool // the end of the file is the end of what the exec reads

	sending sync.Mutex // so that what is sent again comes before what is sent next
	mu      sync.Mutex
	changed sync.Cond
	pending []byte // what was read from the file and not acknowledged
	acked   int64  // the offset of the first of it
	ended   bool   // the file has
	stopped bool   // the exec reads no more
}

func newFeeder(t *stream, file *os.File, closes bool) *feeder {
	f := &feeder{stream: t, file: file, closes: closes}
	f.changed.L = &f.mu
	return f
}

func (f *feeder) begin(offset int64) { f.acked = offset }

// run reads the file as fast as the exec does.
func (f *feeder) run() {
	buf := make([]byte, 1+api.StreamChunk) // the first byte is the channel
	for {
		room := f.room()
		if room == 0 {
			return
		}
		n, err := f.file.Read(buf[1 : 1+room])
		if n > 0 {
			f.send(buf[:1+n])
		}
		if err != nil {
			f.end()
			return
		}
	}
}

// room waits until more may be sent. It is 0 when nothing is to be sent any more.
func (f *feeder) room() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pending) >= api.StdinWindow && !f.stopped {
		f.changed.Wait()
	}
	if f.stopped {
		return 0
	}
	return min(api.StdinWindow-len(f.pending), api.StreamChunk)
}

func (f *feeder) send(message []byte) {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	f.pending = append(f.pending, message[1:]...)
	f.mu.Unlock()
	// What does not arrive is sent again on the next connection.
	_ = f.stream.current().Write(f.stream.ctx, websocket.MessageBinary, message)
}

// end tells that the file has ended.
func (f *feeder) end() {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	tell := f.closes && !f.stopped
	f.ended = true
	f.mu.Unlock()
	if tell {
		_ = f.stream.say(api.StreamMessage{Type: api.MsgCloseStdin})
	}
}

// acknowledged forgets what the exec has read.
func (f *feeder) acknowledged(offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(max(0, offset-f.acked), int64(len(f.pending)))
	f.pending = append(f.pending[:0], f.pending[n:]...)
	f.acked += n
	f.changed.Broadcast()
}

// resume sends on a new connection what did not arrive over the one before.
func (f *feeder) resume(ws *websocket.Conn, arrived int64) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	skip := min(max(0, arrived-f.acked), int64(len(f.pending)))
	again := append([]byte(nil), f.pending[skip:]...)
	ended := f.ended && f.closes && !f.stopped
	f.mu.Unlock()
	f.stream.use(ws)
	for len(again) > 0 {
		n := min(len(again), api.StreamChunk)
		if err := ws.Write(f.stream.ctx, websocket.MessageBinary, append([]byte{0}, again[:n]...)); err != nil {
			return err
		}
		again = again[n:]
	}
	if ended {
		return f.stream.sayTo(ws, api.StreamMessage{Type: api.MsgCloseStdin})
	}
	return nil
}

// stop ends the reading: the exec has ended, or reads no more. A read of a file
// that cannot be interrupted goes on until something comes.
func (f *feeder) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.stopped = true
	f.changed.Broadcast()
	_ = f.file.SetReadDeadline(time.Unix(1, 0))
	f.file.Close()
}
