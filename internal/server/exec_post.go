package server

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/execstream"
)

// The forms in which a plain POST gets the output of its command.
const (
	formLines  = "lines"
	formRaw    = "raw"
	formMerged = "merged"
)

// outputForm is the form that a request asks for; "" for none.
func outputForm(r *http.Request) (string, error) {
	form := r.URL.Query().Get("stream")
	switch {
	case upgrades(r):
		return "", nil
	case form == "" && strings.HasPrefix(r.Header.Get("Accept"), "application/x-ndjson"):
		return formLines, nil
	case form != "" && !slices.Contains([]string{formLines, formRaw, formMerged}, form):
		return "", forkbox.Errorf(forkbox.Invalid, "understand the request", "stream=%q is none of %s, %s, %s", form, formLines, formRaw, formMerged)
	}
	return form, nil
}

// poster is a caller who gets the output of a command as the answer to a plain
// request.
type poster struct {
	readout
	input []byte // what the command still has to read
	taken int64  // how much of it is on its way
	out   output
}

// output is a form of the answer.
type output interface {
	begin(made *forkbox.Box, exec forkbox.Exec) error
	data(ch execstream.Channel, p []byte) error
	end(exec forkbox.Exec, err error) error
}

// post runs a command and answers with what it writes.
func (s execRoutes) post(w http.ResponseWriter, r *http.Request, form string, req api.StreamRequest) error {
	c := &poster{readout: readout{execCaller: newExecCaller(s.Server, r)}, input: req.Exec.Stdin}
	req.Stdin, req.Merge = len(c.input) > 0, form == formMerged
	req.Exec.Stdin = nil
	c.out = &outputLines{lines: &lines{ResponseWriter: w, follow: true}}
	if form != formLines {
		c.out = &outputBytes{w: w}
	}
	go func() {
		<-r.Context().Done()
		close(c.gone)
	}()
	made, err := c.start(r.PathValue("box"), req)
	if err != nil {
		return err
	}
	defer func() { c.close(true) }()
	if made != nil {
		noteMade(r, *made)
	}
	if err := c.out.begin(made, c.running()); err != nil {
		return nil // the caller has gone
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		c.read()
	}()
	exec, _, err := c.exit(received)
	if err != nil {
		c.close(true) // read must not write to the answer any more
		<-received
		err = cmp.Or(access.Ended(r.Context()), err)
	}
	return c.out.end(exec, err)
}

// read passes on what the command writes, and acknowledges what the caller's
// connection has taken.
func (c *poster) read() {
	if _, err := c.catchUp(forkbox.StreamAt{}, c.out.data); err != nil || c.link == nil {
		return
	}
	at := [3]int64{}
	for {
		f, err := c.link.Receive()
		if err != nil {
			return
		}
		switch f.Kind {
		case execstream.Data1, execstream.Data2:
			ch := execstream.Channel(f.Kind)
			if c.out.data(ch, f.Data) != nil {
				return
			}
			at[ch] += int64(len(f.Data))
			c.link.Send(execstream.Frame{Kind: execstream.Ack, Channel: ch, Offset: at[ch]})
		case execstream.Ack:
			c.feed(f.Offset)
		case execstream.End:
			return
		}
	}
}

// feed sends what the command may be sent now that it has read so much.
func (c *poster) feed(written int64) {
	room := written + execstream.InputWindow - c.taken
	n := min(room, int64(len(c.input)))
	if n <= 0 {
		return
	}
	c.link.SendData(execstream.Stdin, c.input[:n])
	c.input = c.input[n:]
	c.taken += n
	if len(c.input) == 0 {
		c.link.Send(execstream.Frame{Kind: execstream.EOF})
	}
}

// outputLines is JSON documents.
type outputLines struct{ *lines }

func (o *outputLines) begin(made *forkbox.Box, exec forkbox.Exec) error {
	return o.add(api.OutputLine{Made: made, Started: &exec})
}

func (o *outputLines) data(ch execstream.Channel, p []byte) error {
	line := api.OutputLine{Stream: "stdout", Data: p}
	if ch == execstream.Stderr {
		line.Stream = "stderr"
	}
	if utf8.Valid(p) {
		text := string(p)
		line.Data, line.Text = nil, &text
	}
	return o.add(line)
}

func (o *outputLines) end(exec forkbox.Exec, err error) error {
	if err == nil {
		return o.add(api.OutputLine{Exit: &exec})
	}
	return o.lines.end(err, func(e *forkbox.Error) any { return api.OutputLine{Error: e} })
}

// outputBytes is what the command writes and nothing else. stderr is in it where
// it was merged with stdout; otherwise it is only in the log.
type outputBytes struct{ w http.ResponseWriter }

func (o *outputBytes) begin(_ *forkbox.Box, exec forkbox.Exec) error {
	h := o.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Location", api.GetExec.URL(nil, exec.Box, exec.ID))
	h.Set("Trailer", api.ExitTrailer+", "+api.ErrorTrailer)
	o.w.WriteHeader(http.StatusOK)
	return http.NewResponseController(o.w).Flush()
}

func (o *outputBytes) data(ch execstream.Channel, p []byte) error {
	if ch == execstream.Stderr {
		return nil
	}
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

func (o *outputBytes) end(exec forkbox.Exec, err error) error {
	if err != nil {
		o.w.Header().Set(api.ErrorTrailer, strings.ReplaceAll(toError(err).Error(), "\n", " "))
		return err
	}
	o.w.Header().Set(api.ExitTrailer, strconv.Itoa(exec.Exit.Code))
	return nil
}
