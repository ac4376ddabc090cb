package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
)

func (s *Server) tokens(op string) (*access.Tokens, error) {
	if s.Tokens == nil {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon takes no tokens")
	}
	return s.Tokens, nil
}

func (s daemonRoutes) listTokens(r *http.Request, _ api.None) (list api.TokenList, err error) {
	tokens, err := s.tokens("list tokens")
	if err == nil {
		list.Tokens = tokens.List(callOf(r).Principal)
	}
	return list, err
}

func (s daemonRoutes) createToken(r *http.Request, req api.TokenRequest) (made api.NewToken, err error) {
	tokens, err := s.tokens("make a token")
	if err != nil {
		return made, err
	}
	spec := access.TokenSpec{Name: req.Name, Scopes: req.Scopes, User: req.User, Life: req.Life}
	made.Made, made.Token, err = tokens.Create(r.Context(), callOf(r).Principal, spec)
	return made, err
}

func (s daemonRoutes) removeToken(r *http.Request, _ api.None) (list api.TokenList, err error) {
	tokens, err := s.tokens("end a token")
	if err != nil {
		return list, err
	}
	ended, err := tokens.Revoke(r.Context(), callOf(r).Principal, r.PathValue("token"))
	list.Tokens = notNil(ended)
	return list, err
}

// listListeners says where the daemon can be reached, and what to pin.
func (s daemonRoutes) listListeners(*http.Request, api.None) (api.ListenerList, error) {
	list := api.ListenerList{Listeners: []api.Listener{}}
	if s.Outside == nil {
		return list, nil
	}
	for _, l := range s.Outside.Listeners {
		one := api.Listener{URL: l.URL}
		if !l.Plain {
			expires := s.Outside.Expires()
			one.Fingerprint, one.Expires = s.Outside.Fingerprint(), &expires
		}
		list.Listeners = append(list.Listeners, one)
	}
	return list, nil
}
