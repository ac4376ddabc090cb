package forkbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Code classifies an error for programs. People read the message and the hints.
type Code string

const (
	Invalid         Code = "invalid"           // the request makes no sense
	NotFound        Code = "not-found"         // no such box, exec
	Ambiguous       Code = "ambiguous"         // a prefix that several boxes share
	Exists          Code = "exists"            // the name is taken
	Busy            Code = "busy"              // the state does not allow it now
	Conflict        Code = "conflict"          // reality, or the box, changed meanwhile; Items says where
	Changed         Code = "changed"           // it is not what the caller said that it is
	Unconfirmed     Code = "unconfirmed"       // needs a yes; Items says to what
	Denied          Code = "denied"            // the caller may not
	Unauthenticated Code = "unauthenticated"   // it is not known who the caller is
	RateLimited     Code = "rate-limited"      // the caller asked too often; it may again later
	Unsupported     Code = "unsupported"       // this host cannot; the hint says what would help
	CommandNotFound Code = "command-not-found" // no such program in the box
	NotExecutable   Code = "not-executable"    // there, but cannot be executed
	TimedOut        Code = "timed-out"
	Unavailable     Code = "unavailable" // the daemon does not answer
	Internal        Code = "internal"    // a defect or a failing disk
)

// codes is the one table from an error's code to the exit code of the CLI and
// the status of the API.
var codes = map[Code]struct{ exit, status int }{
	Invalid:         {125, http.StatusBadRequest},
	NotFound:        {125, http.StatusNotFound},
	Ambiguous:       {125, http.StatusConflict},
	Exists:          {125, http.StatusConflict},
	Busy:            {125, http.StatusConflict},
	Conflict:        {125, http.StatusConflict},
	Changed:         {125, http.StatusPreconditionFailed},
	Unconfirmed:     {125, http.StatusPreconditionRequired},
	Denied:          {125, http.StatusForbidden},
	Unauthenticated: {125, http.StatusUnauthorized},
	RateLimited:     {125, http.StatusTooManyRequests},
	Unsupported:     {125, http.StatusNotImplemented},
	CommandNotFound: {127, http.StatusUnprocessableEntity},
	NotExecutable:   {126, http.StatusUnprocessableEntity},
	TimedOut:        {124, http.StatusGatewayTimeout},
	Unavailable:     {125, http.StatusServiceUnavailable},
	Internal:        {125, http.StatusInternalServerError},
}

// ExitCode is what the CLI exits with for an error of this code.
func (c Code) ExitCode() int {
	if row, ok := codes[c]; ok {
		return row.exit
	}
	return 125
}

// Status is the HTTP status for an error of this code.
func (c Code) Status() int {
	if row, ok := codes[c]; ok {
		return row.status
	}
	return http.StatusInternalServerError
}

// Error reads "cannot <Op>: <Why>". Hints say what to do about it.
type Error struct {
	Code  Code
	Op    string // what could not be done: "create box"
	Why   string
	Hints []string
	// Items are the paths that it is about, each with its own reason.
	Items []Caution
	// Hash is of what was looked at: a repeated request can name it to be
	// sure that it means the same.
	Hash string
	err  error
}

// ErrorDocument is an Error as JSON.
type ErrorDocument struct {
	Code  Code   `json:"code"`
	Op    string `json:"op"` // what could not be done
	Cause string `json:"cause"`
	// Message is the whole sentence: cannot <op>: <cause>.
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
	// Items are the paths that it is about, each with its own reason.
	Items []Caution `json:"items,omitempty"`
	// Hash is of what was looked at: a repeated request can name it.
	Hash string `json:"hash,omitempty"`
}

// MarshalJSON writes an [ErrorDocument].
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(ErrorDocument{e.Code, e.Op, e.Why, e.Error(), e.Hints, e.Items, e.Hash})
}

// UnmarshalJSON reads one. Records of before it had a cause call that "why".
func (e *Error) UnmarshalJSON(text []byte) error {
	var doc struct {
		ErrorDocument
		Why string `json:"why"`
	}
	err := json.Unmarshal(text, &doc)
	*e = Error{Code: doc.Code, Op: doc.Op, Why: cmp.Or(doc.Cause, doc.Why), Hints: doc.Hints, Items: doc.Items, Hash: doc.Hash}
	return err
}

func (e *Error) Error() string { return "cannot " + e.Op + ": " + e.Why }

func (e *Error) Unwrap() error { return e.err }

// Errorf makes an [Error]; %w keeps the cause.
func Errorf(code Code, op, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Op: op, Why: err.Error(), err: err}
}

// Hint adds a line that tells the user what to do.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}

// About adds a path that the error is about.
func (e *Error) About(path, why string) *Error {
	e.Items = append(e.Items, Caution{Path: path, Why: why})
	return e
}

// Wrap turns any error into an [Error]. One that is already an Error keeps its
// code and hints, and its own words: the innermost operation knows best.
func Wrap(op string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return Errorf(Internal, op, "%w", err)
}

// CodeOf is the code of err, Internal if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// SaidLast is between what went wrong and the last lines that a command said, where
// an error has them.
const SaidLast = ":\n  "
