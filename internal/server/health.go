package server

import (
	"context"
	"net/http"
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
	return s.profiling.Serve(w, r, r.PathValue("profile"))
}
