package server

import (
	"bufio"
	"encoding/json"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// listChanges streams {"changes":[…],"summary":{…}}, a change on each line:
// there may be millions, and our own client reads them line by line.
// What fails before the first change has a status of its own; what fails later
// is a member "error" at the end.
func (s changeRoutes) listChanges(w http.ResponseWriter, r *http.Request, _ api.None) error {
	out := bufio.NewWriterSize(w, 64<<10)
	begun := false
	begin := func() {
		w.Header().Set("Content-Type", "application/json")
		out.WriteString(`{"changes":[`)
		begun = true
	}
	var text []byte
	summary, err := s.Engine.Diff(r.Context(), who(r), r.PathValue("box"), diffSpec(r), func(change forkbox.Change) error {
		if !begun {
			begin()
		} else {
			out.WriteString(",\n")
		}
		text = change.AppendJSON(text[:0])
		_, err := out.Write(text)
		return err
	})
	if err != nil && !begun {
		return err
	}
	if !begun {
		begin()
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

// diffSpec reads the query of a request for changes.
func diffSpec(r *http.Request) forkbox.DiffSpec {
	q := r.URL.Query()
	return forkbox.DiffSpec{
		Selection: forkbox.Selection{Paths: q["path"], All: isSet(r, "all"), Exact: isSet(r, "exact")},
		Against:   q.Get("against"),
		Patch:     isSet(r, "patch"), Stat: isSet(r, "stat"), Hash: isSet(r, "hash"), Renames: isSet(r, "renames"),
	}
}

// writeJSON writes to a buffer, which remembers its first error.
func writeJSON(out *bufio.Writer, doc any) {
	text, err := json.Marshal(doc)
	if err == nil {
		out.Write(text)
	}
}

func (s changeRoutes) getStatus(r *http.Request, _ api.None) (forkbox.BoxStatus, error) {
	return s.Engine.Status(r.Context(), who(r), r.PathValue("box"))
}

func (s changeRoutes) syncBox(r *http.Request, _ api.None) (forkbox.SyncResult, error) {
	return s.Engine.Sync(r.Context(), who(r), r.PathValue("box"))
}
