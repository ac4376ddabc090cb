package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/strictjson"
)

// decode reads the one JSON object of a request.
func decode(r *http.Request, into any) error { return badRequest(strictjson.Decode(r.Body, into)) }

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
	case err == nil:
		return nil
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
	id    string // of the request
	begun bool
	begin func(status int) // where set, told before the first byte of an answer
	cut   bool             // what was written is not the whole: the client must notice
	sent  func(n int64)    // where set, told now and then how much was written
	wrote int64

	status int
	copied *bytes.Buffer // what was written, for CheckAnswer
}

// CheckAnswer, which tests set, is told what each request was answered with.
var CheckAnswer func(route *api.Route, status int, body []byte)

// mostChecked bounds what of an answer is kept for CheckAnswer. A longer one is
// not checked.
const mostChecked = 1 << 20

func (w *answerWriter) check(route *api.Route) {
	if w.copied != nil && w.begun && !w.cut && w.status != 0 && w.copied.Len() < mostChecked {
		CheckAnswer(route, w.status, w.copied.Bytes())
	}
}

// uncheck is for an answer that is not what the document has for its route: events
// in place of lines, or a reason that is not an error.
func uncheck(w http.ResponseWriter) {
	if aw, ok := w.(*answerWriter); ok {
		aw.copied = nil
	}
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answerWriter) WriteHeader(status int) {
	w.beginning(status)
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // nothing has been said yet
	}
	if !w.begun {
		w.beginning(http.StatusOK)
		w.status = http.StatusOK
	}
	if w.copied != nil && w.copied.Len() < mostChecked {
		w.copied.Write(p)
	}
	n, err := w.ResponseWriter.Write(p)
	before := w.wrote
	if w.wrote += int64(n); w.sent != nil && w.wrote/tellEvery > before/tellEvery {
		w.sent(w.wrote)
	}
	return n, err
}

// FlushError is what [http.ResponseController] calls: a stream hears at once that its
// reader is gone.
func (w *answerWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// beginning can be repeated.
func (w *answerWriter) beginning(status int) {
	if !w.begun && w.begin != nil {
		w.begin(status)
	}
	w.begun = true
}

func (w *answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.beginning(http.StatusSwitchingProtocols)
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// mute is for libraries that refuse a request in their own words: what they say is
// left out, for every error of the API has one form.
type mute struct {
	*answerWriter
	refused int // the status
}

func (m *mute) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		m.refused = status
		return
	}
	m.answerWriter.WriteHeader(status)
}

func (m *mute) Write(p []byte) (int, error) {
	if m.refused > 0 {
		return len(p), nil
	}
	return m.answerWriter.Write(p)
}

// failWith is fail for an error that has a status of its own.
func (w *answerWriter) failWith(status int, err error) error {
	_ = answer(w, status, api.ErrorBody{Error: toError(err), Request: w.id})
	return err
}

func (w *answerWriter) fail(err error) {
	if w.begun {
		return // the handler that began it has said so in its own way
	}
	e := toError(err)
	if e.Code == forkbox.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="forkbox"`)
		w.Header().Set("Connection", "close")
	}
	answer(w, e.Code.Status(), api.ErrorBody{Error: e, Request: w.id})
}

func toError(err error) *forkbox.Error {
	var e *forkbox.Error
	errors.As(forkbox.Wrap("answer", err), &e)
	hintRoom(e, err)
	return e
}

// decodeExactly is decode for requests that delete, or change what holds.
func decodeExactly(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest(err)
	}
	return badRequest(strictjson.DecodeExactly(text, into))
}

// hintRoom adds to an error of a full disk what gives room. Of files alone: the
// kernel says the same of mounts and namespaces that there are too many of.
func hintRoom(e *forkbox.Error, err error) {
	var file *fs.PathError
	if !errors.As(err, &file) || !errors.Is(file, syscall.ENOSPC) || strings.HasPrefix(file.Path, "/sys/") {
		return
	}
	for _, hint := range e.Hints {
		if strings.HasPrefix(hint, "free some") {
			return
		}
	}
	e.Hint("free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it")
}
