package ingress

import (
	"fmt"
	"net/http"

	"github.com/forkbox/forkbox"
)

// answer says in plain text what went wrong and what to do. What it repeats of
// a request are parsed places only, never bytes as they came.
func answer(w http.ResponseWriter, status int, err *forkbox.Error) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintf(w, "error: %v\n", err)
	for _, hint := range err.Hints {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

// misdirected turns away who came under a name that is not below localhost: a
// page elsewhere whose name was made to resolve to this machine, most likely.
func misdirected(w http.ResponseWriter) {
	answer(w, http.StatusMisdirectedRequest, forkbox.Errorf(forkbox.Denied, opURL, "only names below localhost are served here").
		Hint("forkbox open BOX PORT tells the URL of a box's port"))
}

func noPlace(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, forkbox.Errorf(forkbox.NotFound, opURL, "the name is not PORT--BOX%s", suffix).
		Hint("forkbox open BOX PORT tells the URL of a box's port"))
}

// notOpen says the same whether there is such a box or not: who asks may be
// anybody.
func notOpen(w http.ResponseWriter, at place) {
	answer(w, http.StatusNotFound, forkbox.Errorf(forkbox.NotFound, opURL, "nothing is open at %s", at.host()).
		Hint("open it: forkbox open %s %d", at.label, at.port).
		Hint("what was open before the box or the daemon stopped has to be opened again"))
}

func noTunnel(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	answer(w, http.StatusMethodNotAllowed, forkbox.Errorf(forkbox.Denied, opURL, "this is no proxy").
		Hint("send requests to the URL itself"))
}

func crowded(w http.ResponseWriter, r *route) {
	w.Header().Set("Retry-After", "1")
	answer(w, http.StatusServiceUnavailable, forkbox.Errorf(forkbox.Busy, opURL, "box %s has as many connections as it may have", r.box).
		Hint("try again when some have ended"))
}

func nobodyListens(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "nothing listens on port %d of box %s", r.port, r.box).
		Hint("start the server in the box, on its loopback or on all addresses").
		Hint("forkbox wait %s --port %d tells when it is there", r.box, r.port))
}

// noWay does not say why: who asks may be anybody, and the log has it.
func noWay(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "box %s cannot be reached now", r.box).
		Hint("see whether it runs: forkbox ls"))
}

func broken(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "port %d of box %s gives no answer in HTTP", r.port, r.box).
		Hint("if it is not an HTTP server: forkbox port %s %d", r.box, r.port))
}
