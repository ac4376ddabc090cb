// Package profiling shows what the daemon is busy with, as net/http/pprof does, but
// for what that refuses: it says so as text, and every error of the API is JSON.
package profiling

import (
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// Profiler serves profiles. The zero value is ready for use.
type Profiler struct {
	busy sync.Mutex // of the processor, or a trace: there can be one
}

// Serve answers with the profile of a name.
func (p *Profiler) Serve(w http.ResponseWriter, r *http.Request, name string) error {
	if name == "profile" || name == "trace" {
		if !p.busy.TryLock() {
			return forkbox.Errorf(forkbox.Busy, "profile the daemon", "it is being profiled").Hint("try again when that is done")
		}
		defer p.busy.Unlock()
	}
	switch name {
	case "profile":
		pprof.Profile(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		if profiles.Lookup(name) == nil {
			return forkbox.Errorf(forkbox.NotFound, "profile the daemon", "there is no profile %q", name).
				Hint("there are profile, trace, heap, goroutine and others: go doc runtime/pprof")
		}
		plain := &plainRefusal{ResponseWriter: w}
		pprof.Handler(name).ServeHTTP(plain, r)
		return plain.err()
	}
	return nil
}

// plainRefusal keeps back what pprof says against a request, such as that seconds
// do not go with debug.
type plainRefusal struct {
	http.ResponseWriter
	said    strings.Builder
	refused bool
}

func (p *plainRefusal) WriteHeader(status int) {
	if p.refused = status >= http.StatusBadRequest; !p.refused {
		p.ResponseWriter.WriteHeader(status)
	}
}

func (p *plainRefusal) Write(text []byte) (int, error) {
	if p.refused {
		return p.said.Write(text)
	}
	return p.ResponseWriter.Write(text)
}

func (p *plainRefusal) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *plainRefusal) err() error {
	if !p.refused {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, "profile the daemon", "%s", strings.TrimSpace(p.said.String()))
}
