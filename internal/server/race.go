package server

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// Races runs races. ref is an id, a name or the beginning of one, each only of
// who asks; an empty one is the newest.
type Races interface {
	// Start returns when the race is recorded and runs. It goes on without ctx.
	Start(ctx context.Context, who forkbox.Owner, spec forkbox.RaceSpec) (forkbox.Race, error)
	// List has the newest first.
	List(ctx context.Context, who forkbox.Owner) ([]forkbox.Race, error)
	Get(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error)
	// Follow begins with the whole record, and ends with it when the race has
	// ended.
	Follow(ctx context.Context, who forkbox.Owner, ref string, yield func(forkbox.RaceEvent) error) error
	// Cancel returns when all is still. It can be repeated.
	Cancel(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error)
	// Remove takes its boxes and transcripts along; one that runs only with
	// force.
	Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error
	Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RaceApply) (forkbox.RaceLanding, error)
	// Log is what an approach printed, of its last attempt.
	Log(ctx context.Context, who forkbox.Owner, ref, approach string, follow bool, yield func(forkbox.RaceLog) error) error
}

// racesOf is who runs the races of an engine, where somebody does.
func racesOf(engine Engine) Races {
	if has, ok := engine.(interface{ Races() Races }); ok {
		return has.Races()
	}
	return nil
}

func (s *Server) races(op string) (Races, error) {
	if s.Races == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon runs no races")
	}
	return s.Races, nil
}

// raceRef is the race that a question is about. Only questions can be about the
// newest: what was meant for one race must not hit another that just began.
func raceRef(r *http.Request) string {
	if ref := r.PathValue("race"); ref != client.NewestRace {
		return ref
	}
	return ""
}

func (s *Server) startRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("start a race")
	if err != nil {
		return err
	}
	var spec forkbox.RaceSpec
	if err := decode(r, &spec); err != nil {
		return err
	}
	if err := checkRace(spec); err != nil {
		return err
	}
	race, err := races.Start(r.Context(), who(r), spec)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, race)
}

// checkRace refuses what nobody could run, or what is more than anybody means,
// before anything is made of it.
func checkRace(spec forkbox.RaceSpec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if err := checkWish(spec.Start.Wish); err != nil {
		return err
	}
	return spec.Start.NetWish.Check()
}

func (s *Server) listRaces(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("list races")
	if err != nil {
		return err
	}
	list, err := races.List(r.Context(), who(r))
	if err != nil {
		return err
	}
	short := make([]forkbox.Race, len(list))
	for i, race := range list {
		short[i] = briefRace(race)
	}
	return answer(w, http.StatusOK, client.RaceList{Races: short})
}

func (s *Server) getRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("find a race")
	if err != nil {
		return err
	}
	return answerRace(w)(races.Get(r.Context(), who(r), raceRef(r)))
}

// cancelRace is done also for somebody who has gone: they may have sent it with
// their last breath.
func (s *Server) cancelRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("cancel a race")
	if err == nil {
		err = decodeOptional(r, &struct{}{})
	}
	if err != nil {
		return err
	}
	return answerRace(w)(races.Cancel(context.WithoutCancel(r.Context()), who(r), r.PathValue("race")))
}

func (s *Server) removeRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("remove a race")
	if err != nil {
		return err
	}
	force, err := yesOrNo(r, "force")
	if err != nil {
		return err
	}
	return done(w, races.Remove(r.Context(), who(r), r.PathValue("race"), force))
}

// applyRace needs a body, if only {}, as applyBox does.
func (s *Server) applyRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("apply a race")
	if err != nil {
		return err
	}
	var spec forkbox.RaceApply
	if err := decode(r, &spec); err != nil {
		return err
	}
	landing, err := races.Apply(r.Context(), who(r), r.PathValue("race"), spec)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, landing)
}

func answerRace(w http.ResponseWriter) func(forkbox.Race, error) error {
	return func(race forkbox.Race, err error) error {
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, race)
	}
}
