package server

import (
	"io"
	"net/http"
	"time"
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
	if err != nil {
		w.Header().Set("Connection", "close")
		w.(*answerWriter).fail(err)
		_ = control.Flush()
		_ = control.SetReadDeadline(time.Now().Add(drainTime))
		_, _ = io.Copy(io.Discard, body)
		return err
	}
	_, _ = io.Copy(io.Discard, body) // what archives have after their end
	return answer(w, http.StatusCreated, doc)
}
