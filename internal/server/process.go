package server

import (
	"net/http"

	"github.com/forkbox/forkbox/client"
)

func (s boxRoutes) listProcesses(w http.ResponseWriter, r *http.Request) error {
	processes, err := s.Engine.Processes(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.ProcessList{Processes: notNil(processes)})
}
