package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// getConfig tells what the daemon goes by.
func (s daemonRoutes) getConfig(r *http.Request, _ api.None) (api.Configuration, error) {
	if s.Configuration == nil {
		return api.Configuration{}, forkbox.Errorf(forkbox.Unsupported, "show the configuration", "this daemon has none to show")
	}
	return s.Configuration(who(r)), nil
}
