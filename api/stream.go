package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// A stream is an exec's connection for those who have no files to hand over: a
// WebSocket. Binary messages are one byte that names the channel, 0 stdin, 1
// stdout, 2 stderr, and its data. Text messages are a [StreamMessage]; the
// caller's first is a [StreamRequest].
//
// The daemon sends no more than StreamWindow bytes of a channel that the caller
// has not acknowledged with ack; then the exec waits. The caller sends no more
// than StdinWindow bytes that the daemon has not. Offsets count the bytes of a
// channel from the beginning of the exec. A caller whose connection is lost joins
// again with the key of started and with what it has seen, and goes on there.
const (
	StreamWindow = 256 << 10
	StdinWindow  = 64 << 10
	// StreamChunk is the longest data of a message.
	StreamChunk = 32 << 10
)

// How long a caller may take to come back.
const (
	DefaultStreamGrace = 30 * time.Second
	LongestStreamGrace = 10 * time.Minute
)

// StreamRequest is the first message of a stream: what to run, or what the caller
// has of what runs.
type StreamRequest struct {
	Create *CreateRequest `json:"create,omitempty"` // of a run: the box to make
	Exec   *ExecRequest   `json:"exec,omitempty"`   // what to run in it
	// Stdin says that the caller writes to it; otherwise it is empty.
	Stdin bool `json:"stdin,omitempty"`
	// Merge has stdout and stderr be one channel, in the order of what is written.
	Merge bool `json:"merge,omitempty"`
	// Grace is how long the caller may take to come back when the connection is
	// lost. Then on_disconnect holds.
	Grace *time.Duration `json:"grace_ns,omitempty"`

	// Of one who joins: the key of the stream that it had, and what it has seen of
	// the output. Without a key it joins an exec that runs in the background;
	// without Seen it sees what comes from now on.
	Key  string            `json:"key,omitempty"`
	Seen *forkbox.StreamAt `json:"seen,omitempty"`
	// Stop is that of the request which began the stream.
	Stop bool `json:"stop,omitempty"`
}

// StreamMessage is what the two ends of a stream say beside the data.
type StreamMessage struct {
	Type string        `json:"type"`
	Exec *forkbox.Exec `json:"exec,omitempty"` // started, exit
	Made *forkbox.Box  `json:"made,omitempty"` // started, error: the box of a run
	Key  string        `json:"key,omitempty"`  // started
	// At is, of started, how much of stdin the daemon has and where the output
	// begins that follows; of ack, up to where the sender has what it was sent;
	// of gap, where the output goes on after what was not kept.
	At      *forkbox.StreamAt `json:"at,omitempty"`
	Signal  int               `json:"signal,omitempty"`
	Size    *forkbox.Size     `json:"size,omitempty"`
	Stream  string            `json:"stream,omitempty"`  // close-output: stdout, stderr
	Text    string            `json:"text,omitempty"`    // note, gap
	Stopped bool              `json:"stopped,omitempty"` // exit: so was the box, as the request asked
	Error   *forkbox.Error    `json:"error,omitempty"`
}

// The types of a [StreamMessage]. Started, error, exit, note, signal, resize and
// give-up are those of [Message].
const (
	MsgAck        = "ack"
	MsgGap        = "gap"         // some output was not kept; the rest follows
	MsgCloseStdin = "close-stdin" // nothing more comes on stdin
	MsgNoStdin    = "no-stdin"    // the exec reads no more: what is sent is dropped
	// MsgCloseOutput: the caller wants no more of a channel, which breaks it for
	// the exec, as a pipe breaks whose reader has gone.
	MsgCloseOutput = "close-output"
	MsgLeave       = "leave" // the caller does not come back: on_disconnect holds at once
)

// OutputLine is one line of a command's output as a plain POST gets it: started,
// some output, or at the end its exit or what went wrong.
type OutputLine struct {
	Made    *forkbox.Box   `json:"made,omitempty"`    // a box was made
	Started *forkbox.Exec  `json:"started,omitempty"` // the command runs
	Stream  string         `json:"stream,omitempty"`  // stdout, stderr
	Data    []byte         `json:"data,omitempty"`    // in base64
	Text    *string        `json:"text,omitempty"`    // instead, where it is whole UTF-8
	Exit    *forkbox.Exec  `json:"exit,omitempty"`    // the command has ended
	Error   *forkbox.Error `json:"error,omitempty"`
}

// Trailers of a plain POST whose answer is the bare output.
const (
	ExitTrailer  = "Forkbox-Exit-Code"
	ErrorTrailer = "Forkbox-Error"
)
