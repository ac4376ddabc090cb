package server

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// decode reads the one JSON object of a request, strictly: a field that no
// handler knows is a mistake that must not pass for a request without it.
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
		return // the handler that began it has said so in its own way
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

// decodeExactly is decode for requests that delete, or change what holds. Go's
// decoder takes null for nothing said, the last of two equal names, and names in
// any case; here each of them is a mistake.
func decodeExactly(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest(err)
	}
	return decodeTextExactly(text, into)
}

func decodeTextExactly(text []byte, into any) error {
	if err := checkMembers(text, memberNames(into)); err != nil {
		return badRequest(err)
	}
	return decodeFrom(bytes.NewReader(text), into)
}

// checkMembers reads the members of an object. What is wrong beyond that is the
// decoder's to find.
func checkMembers(text []byte, known map[string]bool) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, errors.New("it is not a JSON object"))
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		key := name.(string) // the decoder sees to it
		switch {
		case !known[key]:
			return fmt.Errorf("unknown field %q", key)
		case seen[key]:
			return fmt.Errorf("%q is there twice", key)
		case string(value) == "null":
			return fmt.Errorf("%q is null", key)
		}
		if err := checkTwice(value); err != nil {
			return err
		}
		seen[key] = true
	}
	return nil
}

// checkTwice looks for equal names in a member that is an object of plain
// values itself.
func checkTwice(text json.RawMessage) error {
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.Token()
	seen := map[any]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := dec.Decode(new(json.RawMessage)); err != nil {
			return err
		}
	}
	return nil
}

// memberNames are the JSON names of the fields of the struct that into points
// to.
func memberNames(into any) map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeOf(into).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
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
