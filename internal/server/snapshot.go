package server

import (
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s snapshotRoutes) createSnapshot(r *http.Request, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	return s.Engine.Snapshot(r.Context(), who(r), r.PathValue("box"), spec)
}

func (s snapshotRoutes) listSnapshots(r *http.Request, _ api.None) (list api.SnapshotList, err error) {
	all, err := s.Engine.Snapshots(r.Context(), who(r), r.PathValue("box"))
	if err != nil {
		return list, err
	}
	list.Snapshots, list.Next, err = page(r, all, func(s forkbox.Snapshot) (time.Time, string) { return s.Created, s.ID })
	return list, err
}

func (s snapshotRoutes) rollbackBox(r *http.Request, spec forkbox.RollbackSpec) (forkbox.Rollback, error) {
	done, err := s.Engine.Rollback(r.Context(), who(r), r.PathValue("box"), spec)
	done.Box = brief(done.Box)
	return done, err
}

func (s snapshotRoutes) forkBox(r *http.Request, req api.ForkRequest) (fork forkbox.Fork, err error) {
	ref, err := snapshotRef(r)
	if err == nil {
		err = checkWish(req.Wish)
	}
	if err != nil {
		return fork, err
	}
	ctx, done := s.waiting(r.Context(), who(r), &req.Wish)
	defer done()
	fork, err = s.Engine.ForkWith(ctx, who(r), ref, req.ForkSpec, req.Wish, req.NetWish)
	fork.Children = notNil(fork.Children)
	for _, child := range fork.Children {
		if child.Box != nil {
			*child.Box = brief(*child.Box)
		}
	}
	return fork, unqueued(ctx, err)
}

func (s snapshotRoutes) removeSnapshot(r *http.Request, _ api.None) (api.None, error) {
	ref := r.PathValue("box") + "@" + r.PathValue("snapshot")
	return api.None{}, s.Engine.RemoveSnapshot(r.Context(), who(r), ref, isSet(r, "squash"))
}

func (s snapshotRoutes) getFamily(r *http.Request, _ api.None) (forkbox.Family, error) {
	family, err := s.Engine.Family(r.Context(), who(r))
	family.Boxes, family.Snapshots = notNil(family.Boxes), notNil(family.Snapshots)
	family.Templates = notNil(family.Templates)
	for i := range family.Boxes {
		family.Boxes[i] = brief(family.Boxes[i])
	}
	for i := range family.Templates {
		family.Templates[i] = briefTemplate(family.Templates[i])
	}
	return family, err
}

// snapshotRef is BOX, or BOX@SNAPSHOT where the query names one. An empty name
// is the last snapshot.
func snapshotRef(r *http.Request) (string, error) {
	q := r.URL.Query()
	if !q.Has("snapshot") {
		return r.PathValue("box"), nil
	}
	if _, _, twice := forkbox.SplitRef(r.PathValue("box")); twice {
		return "", forkbox.Errorf(forkbox.Invalid, "understand the request", "it names two snapshots")
	}
	return r.PathValue("box") + "@" + q.Get("snapshot"), nil
}
