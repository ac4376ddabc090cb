package server

import (
	"net/http"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s daemonRoutes) getDoctor(r *http.Request, _ api.None) (list api.CheckList, err error) {
	list.Checks = append(s.Engine.Doctor(r.Context()), s.Engine.CheckMounts(r.Context(), who(r))...)
	if s.Checks != nil {
		list.Checks = append(list.Checks, s.Checks()...)
	}
	list.Checks = append(list.Checks, hidden(s.Engine.HiddenFrom(who(r))))
	list.Differs = s.Engine.Deviations()
	list.Strays, err = s.Engine.Strays(r.Context(), who(r), r.URL.Query().Get("dir"))
	return list, err
}

func (s daemonRoutes) mendStray(r *http.Request, req api.StrayRequest) (forkbox.StrayMended, error) {
	return s.Engine.MendStray(r.Context(), who(r), req.Dir, req.Fate)
}

// hidden lists what the caller's boxes do not see of the caller's own.
func hidden(paths []string) forkbox.Check {
	c := forkbox.Check{Name: "hidden paths", Status: forkbox.Info, Detail: "no known secret exists here"}
	if len(paths) > 0 {
		c.Detail = strings.Join(paths, " ")
		c.Remedy = "a box sees these empty or not at all; open one with --allow-secrets PATH"
	}
	return c
}
