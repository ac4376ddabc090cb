package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// decode reads the one JSON object of a request, strictly: a field that nobody
// knows is a mistake that must not pass for a request without it.
func decode(r *http.Request, into any) error { return decodeFrom(r.Body, into) }

func decodeFrom(r io.Reader, into any) error {
	body := bufio.NewReader(r)
	if err := beginsObject(body); err != nil {
		return badRequest(err)
	}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return badRequest(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badRequest(errors.New("there is something after the JSON"))
	}
	return nil
}

// beginsObject refuses null above all, which a decoder takes for an object with
// nothing in it.
func beginsObject(body *bufio.Reader) error {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return err
		case b == '{':
			return body.UnreadByte()
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			return errors.New("it is not a JSON object")
		}
	}
}

// decodeOptional is decode for requests that may come without a body.
func decodeOptional(r *http.Request, into any) error {
	err := decode(r, into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func badRequest(err error) error {
	const op = "understand the request"
	var large *http.MaxBytesError
	var known *forkbox.Error // of a value that knows what it may be
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &large):
		return forkbox.Errorf(forkbox.Invalid, op, "it is larger than %d bytes", large.Limit)
	case errors.Is(err, io.EOF):
		return forkbox.Errorf(forkbox.Invalid, op, "it is empty: %w", err)
	}
	return forkbox.Errorf(forkbox.Invalid, op, "%w", err)
}

// answer writes a JSON document.
func answer(w http.ResponseWriter, status int, doc any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone is not an error of the request.
	json.NewEncoder(w).Encode(doc)
	return nil
}

// answerWriter knows whether an answer has begun, after which an error can no
// longer have a status of its own.
type answerWriter struct {
	http.ResponseWriter
	begun bool
	cut   bool // what was written is not the whole: the client must notice
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answerWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // nothing has been said yet
	}
	w.begun = true
	return w.ResponseWriter.Write(p)
}

func (w *answerWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (w *answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begun = true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *answerWriter) fail(err error) {
	if w.begun {
		return // whoever began it has said so in its own way
	}
	e := toError(err)
	answer(w, e.Code.Status(), client.ErrorBody{Error: e})
}

func toError(err error) *forkbox.Error {
	var e *forkbox.Error
	errors.As(forkbox.Wrap("answer", err), &e)
	hintRoom(e, err)
	return e
}
