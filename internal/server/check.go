package server

import (
	"net/http"

	"github.com/forkbox/forkbox/client"
)

func (s *Server) doctor(w http.ResponseWriter, r *http.Request) error {
	return answer(w, http.StatusOK, client.CheckList{Checks: notNil(s.Engine.Doctor(r.Context()))})
}
