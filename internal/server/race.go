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

// racesOf is what runs the races of an engine; nil where nothing does.
func racesOf(engine Engine) Races {
	if has, ok := engine.(interface{ Races() Races }); ok {
		return has.Races()
	}
	return nil
}

func (s raceRoutes) races(op string) (Races, error) {
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

func (s raceRoutes) startRace(w http.ResponseWriter, r *http.Request) error {
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

// checkRace refuses what could not be run, or what is more than any user means,
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

func (s raceRoutes) listRaces(w http.ResponseWriter, r *http.Request) error {
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

func (s raceRoutes) getRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("find a race")
	if err != nil {
		return err
	}
	return answerRace(w)(races.Get(r.Context(), who(r), raceRef(r)))
}

// cancelRace is done also for a client that has gone: it may have sent it with
// their last breath.
func (s raceRoutes) cancelRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("cancel a race")
	if err == nil {
		err = decodeOptional(r, &struct{}{})
	}
	if err != nil {
		return err
	}
	return answerRace(w)(races.Cancel(context.WithoutCancel(r.Context()), who(r), r.PathValue("race")))
}

func (s raceRoutes) removeRace(w http.ResponseWriter, r *http.Request) error {
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
func (s raceRoutes) applyRace(w http.ResponseWriter, r *http.Request) error {
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

// followRace sends one event per line, each as soon as it is there.
func (s raceRoutes) followRace(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("follow a race")
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: true}
	err = races.Follow(ctx, who(r), raceRef(r), func(event forkbox.RaceEvent) error {
		return out.add(client.RaceLine{RaceEvent: &event})
	})
	return out.end(s.cutOff(r, "follow a race", err), func(e *forkbox.Error) any { return client.RaceLine{Error: e} })
}

// streamRaceLog sends what an approach printed, a piece per line.
func (s raceRoutes) streamRaceLog(w http.ResponseWriter, r *http.Request) error {
	races, err := s.races("read a transcript")
	if err != nil {
		return err
	}
	follow, err := yesOrNo(r, "follow")
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: follow}
	approach := r.URL.Query().Get("approach")
	err = races.Log(ctx, who(r), raceRef(r), approach, follow, func(piece forkbox.RaceLog) error {
		return out.add(client.RaceLogLine{RaceLog: &piece})
	})
	return out.end(s.cutOff(r, "read a transcript", err), func(e *forkbox.Error) any { return client.RaceLogLine{Error: e} })
}

// cutOff says why a stream ended before its end: who follows asks the next
// daemon where this one stops. Who has gone is no failure.
func (s raceRoutes) cutOff(r *http.Request, op string, err error) error {
	switch {
	case err == nil || r.Context().Err() != nil:
		return nil
	case s.isStopping():
		return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping")
	}
	return err
}

// briefRace is a race as it is listed, without what its approaches ran and
// printed and how each check went: two hundred races of two hundred approaches
// would be more than the client asked for.
func briefRace(race forkbox.Race) forkbox.Race {
	race.Spec = briefSpec(race.Spec)
	race.SetupRuns = nil
	entries := make([]forkbox.Entry, len(race.Entries))
	for i, e := range race.Entries {
		e.Steps, e.Checks, e.Metrics, e.Risks, e.Diff.Paths = nil, nil, nil, nil, nil
		entries[i] = e
	}
	race.Entries = entries
	return race
}

// briefSpec has neither commands, prompts and policies, nor the environment.
func briefSpec(spec forkbox.RaceSpec) forkbox.RaceSpec {
	from := spec.Start
	spec.Start = forkbox.RaceStart{From: from.From, Template: from.Template, Dir: from.Dir, Net: from.Net}
	spec.Setup, spec.Checks, spec.Metrics = nil, nil, nil
	approaches := make([]forkbox.Approach, len(spec.Approaches))
	for i, a := range spec.Approaches {
		approaches[i] = forkbox.Approach{Name: a.Name, Steps: []forkbox.Command{}}
	}
	spec.Approaches = approaches
	return spec
}
