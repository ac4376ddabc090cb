package server

import (
	"encoding/json"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// streamLogs sends one record per line, each as soon as it is there.
func (s *Server) streamLogs(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.lasting(r)
	defer cancel()
	follow, begun := isSet(r, "follow"), false
	out := json.NewEncoder(w)
	begin := func() {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.WriteHeader(http.StatusOK)
		}
	}
	err := s.Engine.Logs(ctx, who(r), r.PathValue("box"), r.PathValue("exec"), follow, func(record forkbox.LogRecord) error {
		begin()
		if err := out.Encode(client.LogLine{LogRecord: &record}); err != nil {
			return err
		}
		if follow {
			return http.NewResponseController(w).Flush()
		}
		return nil
	})
	if err != nil && s.isStopping() {
		err = forkbox.Errorf(forkbox.Unavailable, "follow the output", "the daemon is stopping")
	}
	if err != nil && begun {
		out.Encode(client.LogLine{Error: toError(err)})
	}
	if err == nil {
		begin()
	}
	return err
}
