package server

import (
	"net/http"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	checks := append(s.Engine.Doctor(r.Context()), hidden(s.Engine.HiddenFrom(who(r))))
	return answer(w, http.StatusOK, client.CheckList{Checks: checks})
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
