package server

import (
	"io"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// exportBox streams an archive. What fails before its first byte is an answer
// like any other. Later the connection is cut, so that no client can take half
// an archive for a whole one.
func (s snapshotRoutes) exportBox(w http.ResponseWriter, r *http.Request, _ api.None) error {
	ref, err := snapshotRef(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", api.ArchiveType)
	err = s.Engine.Export(r.Context(), who(r), ref, w)
	if out, ok := w.(*answerWriter); ok && err != nil {
		out.cut = out.begun
	}
	return err
}

func (s snapshotRoutes) importBox(w http.ResponseWriter, r *http.Request, _ api.None) error {
	q := r.URL.Query()
	spec := forkbox.ImportSpec{Name: q.Get("name"), Dir: q.Get("dir"), Net: forkbox.Net(q.Get("net"))}
	return receive(w, r, func(body io.Reader) (any, error) {
		wish, err := wishOf(q)
		if err != nil {
			return nil, err
		}
		net, err := netWishOf(q)
		if err != nil {
			return nil, err
		}
		p := callOf(r).Principal
		withoutFound(p, &net)
		if err := lacking(p, "import a box", netPowers(string(spec.Net), net)...); err != nil {
			return nil, err
		}
		ctx, leave := s.waiting(r.Context(), who(r), &wish)
		defer leave()
		done, err := s.Engine.ImportWith(ctx, who(r), body, spec, wish, net)
		done.Box = brief(done.Box)
		return done, unqueued(ctx, err)
	})
}

func (s snapshotRoutes) addBase(w http.ResponseWriter, r *http.Request, _ api.None) error {
	q := r.URL.Query()
	return receive(w, r, func(body io.Reader) (any, error) {
		kind := q.Get("kind")
		if kind != "oci" && kind != "tar" {
			return nil, forkbox.Errorf(forkbox.Invalid, "unpack a base", "its kind is %q, neither oci nor tar", kind)
		}
		return s.Engine.AddBase(r.Context(), who(r), kind, q.Get("name"), body)
	})
}
