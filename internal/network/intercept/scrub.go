package intercept

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
)

// scrubber is a body in which values have become placeholders.
type scrubber struct {
	from  io.ReadCloser
	look  *patterns
	raw   []byte // room to read into; what is not decided is at its beginning
	held  int    // how much that is
	clean []byte // room for what raw becomes
	ready []byte // the part of clean that is to be handed on
	err   error
	ended func() // called when all has been read
}

const scrubBuffer = 32 << 10

func (s *scrubber) Read(p []byte) (int, error) {
	for len(s.ready) == 0 && s.err == nil {
		s.fill()
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, s.err
}

// fill reads once and decides as much as can be: an event of a stream is handed
// on when it is there, unless it ends as a value begins. Where the server breaks
// off, what was not decided is not handed on.
func (s *scrubber) fill() {
	if need := s.held + scrubBuffer; len(s.raw) < need {
		s.raw = append(s.raw[:s.held], make([]byte, scrubBuffer)...)
	}
	n, err := s.from.Read(s.raw[s.held:])
	s.err = err
	var rest []byte
	s.clean, rest = s.look.replace(s.clean[:0], s.raw[:s.held+n], err == io.EOF)
	s.ready = s.clean
	s.held = copy(s.raw, rest)
	if err != nil {
		s.ended()
	}
}

func (s *scrubber) Close() error {
	err := s.from.Close()
	s.ended()
	return err
}

// cleanHeader replaces values, and leaves out headers whose name has one in it.
func (p *patterns) cleanHeader(header http.Header) {
	if p == nil {
		return
	}
	for name, values := range header {
		if p.inName(name) {
			delete(header, name)
			continue
		}
		for n, value := range values {
			values[n] = p.clean(value)
		}
	}
}

// answerWriter is what a visit's answer goes through, the server's or our own.
type answerWriter struct {
	http.ResponseWriter
	visit *visit
}

// Unwrap lets the server's flushing and hijacking be found.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader is also called for early hints and the like (1xx).
func (w *answerWriter) WriteHeader(status int) {
	v := w.visit
	v.scan.cleanHeader(w.Header())
	if status >= 200 {
		v.Status = status
		if v.last {
			w.Header().Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// boundTo are the secrets that may be sent to a host.
func (i *Interceptor) boundTo(host string) (bound []Secret) {
	if i.Secrets == nil {
		return nil
	}
	for _, s := range i.Secrets() {
		if s.Placeholder == "" || len(s.Value) == 0 {
			continue
		}
		if slices.ContainsFunc(s.Hosts, func(pattern string) bool { return covers(pattern, host) }) {
			bound = append(bound, s)
		}
	}
	return bound
}

// asksForSecret says whether inject would put something in.
func asksForSecret(header http.Header, bound []Secret) bool {
	return len(inject(header.Clone(), bound)) > 0
}

// inject replaces placeholders in header values, and names the secrets that it
// put in. Names of headers, the URL and the body are left as they are: those end
// up in logs, caches and databases.
func inject(header http.Header, bound []Secret) (used []string) {
	for name, values := range header {
		for n, value := range values {
			for _, s := range bound {
				with := fillIn(name, value, s)
				if with == value {
					continue
				}
				value = with
				if !slices.Contains(used, s.Name) {
					used = append(used, s.Name)
				}
			}
			values[n] = value
		}
	}
	slices.Sort(used)
	return used
}

func fillIn(name, value string, s Secret) string {
	if name == "Authorization" {
		value = fillInBasic(value, s)
	}
	return strings.ReplaceAll(value, s.Placeholder, string(s.Value))
}

// fillInBasic looks into "Basic BASE64", where git and curl put a user's name and
// the placeholder as password.
func fillInBasic(value string, s Secret) string {
	scheme, coded, _ := strings.Cut(value, " ")
	coded = strings.TrimSpace(coded)
	if !strings.EqualFold(scheme, "Basic") {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	if err != nil || !strings.Contains(string(plain), s.Placeholder) {
		return value
	}
	filled := strings.ReplaceAll(string(plain), s.Placeholder, string(s.Value))
	return scheme + " " + base64.StdEncoding.EncodeToString([]byte(filled))
}
