package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// followRace sends one event per line, each as soon as it is there.
func (s *Server) followRace(w http.ResponseWriter, r *http.Request) error {
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
func (s *Server) streamRaceLog(w http.ResponseWriter, r *http.Request) error {
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
func (s *Server) cutOff(r *http.Request, op string, err error) error {
	switch {
	case err == nil || r.Context().Err() != nil:
		return nil
	case s.isStopping():
		return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is stopping")
	}
	return err
}
