package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s daemonRoutes) listServices(r *http.Request, _ api.None) (list api.ServiceList, err error) {
	if s.Services == nil {
		return list, forkbox.Errorf(forkbox.Unsupported, "look for services", "this daemon cannot")
	}
	list.Services, err = s.Services(r.Context(), who(r).UID)
	return list, err
}
