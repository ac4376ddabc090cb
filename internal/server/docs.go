package server

import (
	"net/http"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/server/docs"
)

func (s daemonRoutes) getOpenAPI(w http.ResponseWriter, _ *http.Request, _ api.None) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(api.OpenAPI)
	return nil
}

// getDocs is the API as a page for people.
func (s daemonRoutes) getDocs(w http.ResponseWriter, _ *http.Request, _ api.None) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	return docs.Write(w)
}
