package server

import (
	"net/http"
	"net/url"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (s snapshotRoutes) createSnapshot(w http.ResponseWriter, r *http.Request) error {
	var spec forkbox.SnapshotSpec
	if err := decode(r, &spec); err != nil {
		return err
	}
	snapshot, err := s.Engine.Snapshot(r.Context(), who(r), r.PathValue("box"), spec)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, snapshot)
}

func (s snapshotRoutes) listSnapshots(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Engine.Snapshots(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.SnapshotList{Snapshots: notNil(list)})
}

// rollbackBox needs a body, if only {}: with one that was lost on the way a
// box would go back further than was asked for.
func (s snapshotRoutes) rollbackBox(w http.ResponseWriter, r *http.Request) error {
	var spec forkbox.RollbackSpec
	if err := decode(r, &spec); err != nil {
		return err
	}
	done, err := s.Engine.Rollback(r.Context(), who(r), r.PathValue("box"), spec)
	if err != nil {
		return err
	}
	done.Box = brief(done.Box)
	return answer(w, http.StatusOK, done)
}

func (s snapshotRoutes) forkBox(w http.ResponseWriter, r *http.Request) error {
	var req client.ForkRequest
	ref, err := snapshotRef(r)
	if err == nil {
		err = decode(r, &req)
	}
	if err == nil {
		err = checkWish(req.Wish)
	}
	if err != nil {
		return err
	}
	ctx, done := s.waiting(r.Context(), who(r), &req.Wish)
	defer done()
	fork, err := s.Engine.ForkWith(ctx, who(r), ref, req.ForkSpec, req.Wish, req.NetWish)
	if err != nil {
		return unqueued(ctx, err)
	}
	fork.Children = notNil(fork.Children)
	for _, child := range fork.Children {
		if child.Box != nil {
			*child.Box = brief(*child.Box)
		}
	}
	return answer(w, http.StatusCreated, fork)
}

func (s snapshotRoutes) removeSnapshot(w http.ResponseWriter, r *http.Request) error {
	squash, err := yesOrNo(r, "squash")
	if err != nil {
		return err
	}
	ref := r.PathValue("box") + "@" + r.PathValue("snapshot")
	return done(w, s.Engine.RemoveSnapshot(r.Context(), who(r), ref, squash))
}

func (s snapshotRoutes) family(w http.ResponseWriter, r *http.Request) error {
	family, err := s.Engine.Family(r.Context(), who(r))
	if err != nil {
		return err
	}
	family.Boxes, family.Snapshots = notNil(family.Boxes), notNil(family.Snapshots)
	family.Templates = notNil(family.Templates)
	for i := range family.Boxes {
		family.Boxes[i] = brief(family.Boxes[i])
	}
	for i := range family.Templates {
		family.Templates[i] = briefTemplate(family.Templates[i])
	}
	return answer(w, http.StatusOK, family)
}

// snapshotRef is BOX, or BOX@SNAPSHOT where the query names one. An empty name
// is the last snapshot.
func snapshotRef(r *http.Request) (string, error) {
	q, err := query(r)
	if err != nil || !q.Has("snapshot") {
		return r.PathValue("box"), err
	}
	if _, _, twice := forkbox.SplitRef(r.PathValue("box")); twice {
		return "", forkbox.Errorf(forkbox.Invalid, "understand the request", "it names two snapshots")
	}
	return r.PathValue("box") + "@" + q.Get("snapshot"), nil
}

// query is that of a request, whole: one that cannot be read must not pass for
// one with less in it.
func query(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest(err)
	}
	return q, nil
}

// yesOrNo is isSet for what must not be guessed.
func yesOrNo(r *http.Request, name string) (bool, error) {
	q, err := query(r)
	if err != nil {
		return false, err
	}
	switch value := q.Get(name); value {
	case "1", "true", "yes":
		return true, nil
	case "", "0", "false", "no":
		return false, nil
	default:
		return false, forkbox.Errorf(forkbox.Invalid, "understand the request", "%s=%q is neither yes nor no", name, value)
	}
}
