package server

import (
	"context"
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
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
	if ref := r.PathValue("race"); ref != api.NewestRace {
		return ref
	}
	return ""
}

func (s raceRoutes) startRace(r *http.Request, spec forkbox.RaceSpec) (race forkbox.Race, err error) {
	races, err := s.races("start a race")
	if err == nil {
		err = checkRace(spec)
	}
	if err != nil {
		return race, err
	}
	spec.Start.Env = orUsual(spec.Start.Env, spec.Start.From, spec.Start.Template, who(r))
	return races.Start(r.Context(), who(r), spec)
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

func (s raceRoutes) listRaces(r *http.Request, _ api.None) (list api.RaceList, err error) {
	races, err := s.races("list races")
	if err != nil {
		return list, err
	}
	all, err := races.List(r.Context(), who(r))
	if err != nil {
		return list, err
	}
	short := make([]forkbox.Race, len(all))
	for i, race := range all {
		short[i] = briefRace(race)
	}
	list.Races, list.Next, err = page(r, short, func(c forkbox.Race) (time.Time, string) { return c.Created, c.ID })
	return list, err
}

func (s raceRoutes) getRace(r *http.Request, _ api.None) (race forkbox.Race, err error) {
	races, err := s.races("find a race")
	if err != nil {
		return race, err
	}
	race, err = races.Get(r.Context(), who(r), raceRef(r))
	race.Spec.Start.Env = shownEnv(r, race.Spec.Start.Env)
	return race, err
}

// cancelRace is done also for a client that has gone: it may have sent it with
// their last breath.
func (s raceRoutes) cancelRace(r *http.Request, _ api.None) (race forkbox.Race, err error) {
	races, err := s.races("cancel a race")
	if err != nil {
		return race, err
	}
	race, err = races.Cancel(context.WithoutCancel(r.Context()), who(r), r.PathValue("race"))
	race.Spec.Start.Env = shownEnv(r, race.Spec.Start.Env)
	return race, err
}

func (s raceRoutes) removeRace(r *http.Request, _ api.None) (none api.None, err error) {
	races, err := s.races("remove a race")
	if err != nil {
		return none, err
	}
	return none, races.Remove(r.Context(), who(r), r.PathValue("race"), isSet(r, "force"))
}

func (s raceRoutes) applyRace(r *http.Request, spec forkbox.RaceApply) (landing forkbox.RaceLanding, err error) {
	races, err := s.races("apply a race")
	if err != nil {
		return landing, err
	}
	return races.Apply(r.Context(), who(r), r.PathValue("race"), spec)
}

// followRace sends one event per line, each as soon as it is there.
func (s raceRoutes) followRace(w http.ResponseWriter, r *http.Request, _ api.None) error {
	races, err := s.races("follow a race")
	if err != nil {
		return err
	}
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: true}
	err = races.Follow(ctx, who(r), raceRef(r), func(event forkbox.RaceEvent) error {
		if event.Record != nil {
			shown := *event.Record
			shown.Spec.Start.Env = shownEnv(r, shown.Spec.Start.Env)
			event.Record = &shown
		}
		return out.add(api.RaceLine{RaceEvent: &event})
	})
	return out.end(s.cutOff(r, "follow a race", err), func(e *forkbox.Error) any { return api.RaceLine{Error: e} })
}

// streamRaceLog sends what an approach printed, a piece per line.
func (s raceRoutes) streamRaceLog(w http.ResponseWriter, r *http.Request, _ api.None) error {
	races, err := s.races("read a transcript")
	if err != nil {
		return err
	}
	follow := isSet(r, "follow")
	ctx, cancel := s.lasting(r)
	defer cancel()
	out := &lines{ResponseWriter: w, follow: follow}
	approach := r.URL.Query().Get("approach")
	err = races.Log(ctx, who(r), raceRef(r), approach, follow, func(piece forkbox.RaceLog) error {
		return out.add(api.RaceLogLine{RaceLog: &piece})
	})
	return out.end(s.cutOff(r, "read a transcript", err), func(e *forkbox.Error) any { return api.RaceLogLine{Error: e} })
}

// cutOff says why a stream ended before its end: who follows asks the next
// daemon where this one stops. Who has gone is no failure.
func (s *Server) cutOff(r *http.Request, op string, err error) error {
	ended := access.Ended(r.Context())
	switch {
	case ended != nil:
		return ended
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
