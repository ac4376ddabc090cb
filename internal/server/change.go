package server

import (
	"bufio"
	"encoding/json"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// listChanges streams {"changes":[…],"summary":{…}}: there may be millions.
// What fails before the first change has a status of its own; what fails later
// is a member "error" at the end.
func (s *Server) listChanges(w http.ResponseWriter, r *http.Request) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var summary client.Summary
	err := s.Engine.Changes(r.Context(), who(r), r.PathValue("box"), func(change forkbox.Change) error {
		text, err := json.Marshal(change)
		if err != nil {
			return err
		}
		if summary.Total == 0 {
			w.Header().Set("Content-Type", "application/json")
			out.WriteString(`{"changes":[`)
		} else {
			out.WriteString(",\n")
		}
		summary.Add(change)
		_, err = out.Write(text)
		return err
	})
	if err != nil && summary.Total == 0 {
		return err
	}
	if summary.Total == 0 {
		w.Header().Set("Content-Type", "application/json")
		out.WriteString(`{"changes":[`)
	}
	out.WriteString(`],"summary":`)
	writeJSON(out, summary)
	if err != nil {
		out.WriteString(`,"error":`)
		writeJSON(out, toError(err))
	}
	out.WriteString("}\n")
	out.Flush()
	return err
}

// writeJSON writes to a buffer, which remembers its first error.
func writeJSON(out *bufio.Writer, doc any) {
	text, err := json.Marshal(doc)
	if err == nil {
		out.Write(text)
	}
}
