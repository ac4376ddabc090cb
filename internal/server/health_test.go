package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/api"
)

// TestReadiness: a daemon that cannot do its work says so, and why; it is alive all
// the same.
func TestReadiness(t *testing.T) {
	full := api.Part{Name: "store", Why: "the disk is full"}
	for _, c := range []struct {
		part api.Part
		want int
	}{{api.Part{Name: "store", OK: true}, http.StatusOK}, {full, http.StatusServiceUnavailable}} {
		r := start(t, func(s *Server) { s.Parts = func(context.Context) []api.Part { return []api.Part{c.part} } })
		if status, text := r.raw(t, "GET", "/readyz", ""); status != c.want || !strings.Contains(text, c.part.Why) {
			t.Errorf("readyz of %+v is %d %s", c.part, status, text)
		}
		if status, text := r.raw(t, "GET", "/healthz", ""); status != http.StatusOK || !strings.Contains(text, c.part.Why) {
			t.Errorf("healthz of %+v is %d %s", c.part, status, text)
		}
	}
}

// TestProfiles: they show what every user does.
func TestProfiles(t *testing.T) {
	r := start(t)
	if status, text := r.raw(t, "GET", "/debug/pprof/goroutine?debug=1", ""); status != http.StatusOK || !strings.Contains(text, "goroutine profile") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.raw(t, "GET", "/debug/pprof/heap?debug=2&seconds=4", ""); status != http.StatusBadRequest || !strings.Contains(text, `"code":"invalid"`) {
		t.Errorf("what pprof refuses is no error of the API: %d %s", status, text)
	}
	r = start(t, func(s *Server) { s.uid++ })
	if status, _ := r.raw(t, "GET", "/debug/pprof/goroutine?debug=1", ""); status != http.StatusForbidden {
		t.Errorf("another user gets %d", status)
	}
}
