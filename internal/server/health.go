package server

import (
	"context"
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// healthFor is how long an answer about health counts: anyone may ask, as often as
// they like, and finding out writes to the disk.
const healthFor = 2 * time.Second

// health remembers what was found out last.
type health struct {
	mu    sync.Mutex
	known api.Health
	until time.Time
}

func (h *health) now(ctx context.Context, parts func(context.Context) []api.Part) api.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().Before(h.until) {
		return h.known
	}
	h.known = api.Health{OK: true, Parts: []api.Part{}}
	if parts != nil {
		h.known.Parts = parts(ctx)
	}
	for _, p := range h.known.Parts {
		h.known.OK = h.known.OK && p.OK
	}
	h.until = time.Now().Add(healthFor)
	return h.known
}

// getLiveness: a daemon that answers is alive. Restarting it mends no full disk,
// so that its parts do not count.
func (s daemonRoutes) getLiveness(w http.ResponseWriter, r *http.Request, _ api.None) error {
	found := s.health.now(r.Context(), s.Parts)
	found.OK = true
	return answer(w, http.StatusOK, found)
}

func (s daemonRoutes) getReadiness(w http.ResponseWriter, r *http.Request, _ api.None) error {
	found := s.health.now(r.Context(), s.Parts)
	if s.isStopping() {
		found.OK, found.Parts = false, append([]api.Part{{Name: "daemon", Why: "it is stopping"}}, found.Parts...)
	}
	if !found.OK {
		uncheck(w)
		return answer(w, http.StatusServiceUnavailable, found)
	}
	return answer(w, http.StatusOK, found)
}

// getMetrics answers a scraper. What is there is of all users together, but for
// what each of them takes: that is for them, and for whom the daemon runs as.
func (s daemonRoutes) getMetrics(w http.ResponseWriter, r *http.Request, _ api.None) error {
	if s.Metrics == nil {
		return forkbox.Errorf(forkbox.Unsupported, "tell metrics", "this daemon has none")
	}
	if uid := who(r).UID; uid != s.uid {
		s.Metrics(w, &uid)
	} else {
		s.Metrics(w, nil)
	}
	return nil
}

// getProfile: what a profile shows is of all users, so that it takes an admin, and
// of a daemon that serves several users root.
func (s daemonRoutes) getProfile(w http.ResponseWriter, r *http.Request, _ api.None) error {
	if who(r).UID != s.uid {
		return forkbox.Errorf(forkbox.Denied, "profile the daemon", "only the user that it runs as may")
	}
	uncheck(w) // what pprof has to show, it shows in its own way
	name := r.PathValue("profile")
	if (name == "profile" || name == "trace") && !s.profiling.TryLock() {
		return forkbox.Errorf(forkbox.Busy, "profile the daemon", "it is being profiled").Hint("try again when that is done")
	}
	switch name {
	case "profile":
		defer s.profiling.Unlock()
		pprof.Profile(w, r)
	case "trace":
		defer s.profiling.Unlock()
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
// do not go with debug: that is text, and every error of the API is JSON.
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
