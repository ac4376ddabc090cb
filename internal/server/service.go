package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

func (s daemonRoutes) listServices(r *http.Request, _ api.None) (list api.ServiceList, err error) {
	list.Services, list.Notes, err = s.Engine.ListServices(r.Context(), who(r))
	return list, err
}

func (s daemonRoutes) refreshServices(r *http.Request, req api.RefreshRequest) (list api.StillList, err error) {
	if len(req.Services) == 0 {
		return list, missing("services", "which services")
	}
	list.Stills, err = s.Engine.Refresh(r.Context(), who(r), engine.CreateSpec{
		With: req.Services, Pause: req.Pause, Settings: req.Settings, Env: orUsual(req.Env, "", "", who(r)),
	})
	return list, err
}

func (s boxRoutes) controlService(r *http.Request, req api.ServiceRequest) (forkbox.Box, error) {
	return briefly(s.Engine.ControlService(r.Context(), who(r), r.PathValue("box"), r.PathValue("service"), req.Do))
}
