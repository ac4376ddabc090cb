package server

import (
	"net/http"
	"runtime"

	"github.com/forkbox/forkbox/client"
)

func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, client.Version{
		Version: s.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	})
}
