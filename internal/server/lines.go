package server

import (
	"encoding/json"
	"net/http"

	"github.com/forkbox/forkbox"
)

// lines is an answer of many documents, one on each line, each sent as soon as
// it is there.
type lines struct {
	http.ResponseWriter
	follow bool // somebody waits for each
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
