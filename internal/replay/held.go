package replay

import (
	"bytes"
	"net/http"
)

// Held is an answer that is not given before it is kept, or not at all.
type Held struct {
	http.ResponseWriter // to whom it is given
	Status              int
	Body                bytes.Buffer
	given               bool
}

// Hold makes one that Release gives to w; nil is an answer that no caller waits for.
func Hold(w http.ResponseWriter) *Held {
	if w == nil {
		w = unsent{}
	}
	return &Held{ResponseWriter: w}
}

// Unwrap is for [http.ResponseController].
func (h *Held) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *Held) WriteHeader(status int) { h.Status = status }

func (h *Held) Write(p []byte) (int, error) {
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	return h.Body.Write(p)
}

// Flush gives it at once: of an error, who still sends is to hear.
func (h *Held) Flush() {
	h.Release()
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}

// Release gives it, if there is one. It can be repeated.
func (h *Held) Release() {
	if h.given || h.Status == 0 {
		return
	}
	h.given = true
	h.ResponseWriter.WriteHeader(h.Status)
	_, _ = h.ResponseWriter.Write(h.Body.Bytes())
}

// unsent is where an answer goes that no caller waits for.
type unsent http.Header

func (u unsent) Header() http.Header         { return http.Header(u) }
func (u unsent) Write(p []byte) (int, error) { return len(p), nil }
func (u unsent) WriteHeader(int)             {}
