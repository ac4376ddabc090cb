package server

import (
	"net/http"

	"github.com/forkbox/forkbox/client"
)

func (s limitRoutes) boxStats(w http.ResponseWriter, r *http.Request) error {
	series, err := yesOrNo(r, "series")
	if err != nil {
		return err
	}
	stats, err := s.Engine.Stats(r.Context(), who(r), r.PathValue("box"), series)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, stats)
}

func (s limitRoutes) allStats(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Engine.AllStats(r.Context(), who(r))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.StatsList{Boxes: notNil(list)})
}
