package server

import (
	"net/http"
	"runtime"

	"github.com/forkbox/forkbox/api"
)

func (s daemonRoutes) getVersion(*http.Request, api.None) (api.Version, error) {
	return api.Version{Version: s.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}, nil
}
