package server

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
)

// boundedBody is the body of every request: as much of it as a JSON document
// may have. whole is for the few routes that take a stream.
type boundedBody struct {
	io.ReadCloser
	whole io.ReadCloser
}

func bound(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	return boundedBody{http.MaxBytesReader(w, body, maxBody), body}
}

// receive hands the whole body over, however long, and answers with what take
// made of it. When take fails the client is still sending: it is answered at
// once, and what it sends is read until it has heard. A connection closed at
// once would cost it the reason.
func receive(w http.ResponseWriter, r *http.Request, take func(body io.Reader) (doc any, err error)) error {
	body := r.Body.(boundedBody).whole
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		return err
	}
	doc, err := take(body)
	if err = sayCancelled(r.Context(), err); err != nil {
		w.Header().Set("Connection", "close")
		w.(*answerWriter).fail(err)
		_ = control.Flush()
		if ends, slow := time.Now().Add(drainTime), callOf(r).body; slow != nil {
			slow.endBy(ends)
		} else {
			_ = control.SetReadDeadline(ends)
		}
		_, _ = io.Copy(io.Discard, body)
		return err
	}
	_, _ = io.Copy(io.Discard, body) // what archives have after their end
	return answer(w, http.StatusCreated, doc)
}

// lines is an answer of many documents, one on each line, each sent as soon as
// it is there.
type lines struct {
	http.ResponseWriter
	follow bool // the client waits for each
	begun  bool
}

func (l *lines) begin() {
	if l.begun {
		return
	}
	l.begun = true
	l.Header().Set("Content-Type", "application/x-ndjson")
	l.WriteHeader(http.StatusOK)
}

func (l *lines) add(doc any) error {
	l.begin()
	if err := json.NewEncoder(l).Encode(doc); err != nil {
		return err
	}
	return l.flush()
}

func (l *lines) flush() error {
	if !l.follow {
		return nil
	}
	return http.NewResponseController(l.ResponseWriter).Flush()
}

// end says how it ended: what failed before the first line is an answer of its
// own, later it is the last line.
func (l *lines) end(err error, last func(*forkbox.Error) any) error {
	if err == nil {
		l.begin()
		return nil
	}
	if l.begun {
		l.add(last(toError(err)))
	}
	return err
}
