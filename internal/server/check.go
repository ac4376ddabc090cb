package server

import (
	"net/http"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	var list client.CheckList
	list.Checks = append(s.Engine.Doctor(r.Context()), s.Engine.CheckMounts(r.Context(), who(r))...)
	list.Checks = append(list.Checks, hidden(s.Engine.HiddenFrom(who(r))))
	strays, err := s.Engine.Strays(r.Context(), who(r), r.URL.Query().Get("dir"))
	if err != nil {
		return err
	}
	list.Strays, list.Differs = strays, s.Engine.Deviations()
	return answer(w, http.StatusOK, list)
}

// mendStray writes to reality, so that nothing of its request is guessed.
func (s *Server) mendStray(w http.ResponseWriter, r *http.Request) error {
	var req client.StrayRequest
	if err := decodeExactly(r, &req); err != nil {
		return err
	}
	done, err := s.Engine.MendStray(r.Context(), who(r), req.Dir, req.Fate)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, done)
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
