package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// streamLogs sends one record per line, each as soon as it is there.
func (s execRoutes) streamLogs(w http.ResponseWriter, r *http.Request, _ api.None) error {
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: isSet(r, "follow")}
	if out.follow {
		// Who follows wants to know that they do, before anything is written.
		// An exec that is not there is still an answer with a status of its own.
		if _, err := s.Engine.GetExec(r.Context(), who(r), r.PathValue("box"), r.PathValue("exec")); err != nil {
			return err
		}
		out.begin()
		out.flush()
	}
	err := s.Engine.Logs(ctx, who(r), r.PathValue("box"), r.PathValue("exec"), out.follow, func(record forkbox.LogRecord) error {
		return out.add(api.LogLine{LogRecord: &record})
	})
	return out.end(s.cutOff(r, "follow the output", err), func(e *forkbox.Error) any { return api.LogLine{Error: e} })
}
