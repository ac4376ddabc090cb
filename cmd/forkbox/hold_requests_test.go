//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/api/apitest"
)

// TestHoldRequests has a daemon asked for all that its API does not mean, over TCP
// and over its socket: it answers each with an error that says why, takes the blame
// for none, and is as well afterwards as before.
func TestHoldRequests(t *testing.T) {
	t.Parallel()
	w := newHoldWorld(t, "http://127.0.0.1:0")
	at, err := w.Listeners(t.Context())
	w.ok(err)
	made, err := w.CreateToken(t.Context(), api.TokenRequest{Scopes: []string{"all"}, Life: time.Hour})
	w.ok(err)
	_, err = w.Create(t.Context(), api.CreateRequest{Name: "clean"})
	w.ok(err)
	var all sync.WaitGroup
	for _, a := range []*siege{
		{limitWorld: w, box: "tcp", network: "tcp", address: strings.TrimPrefix(at[0].URL, "http://"), token: made.Token},
		{limitWorld: w, box: "unix", network: "unix", address: filepath.Join(w.home, "forkbox.sock")},
	} {
		all.Go(a.lay)
	}
	all.Wait()
	w.ok(w.Ping(t.Context()))
	text, err := os.ReadFile(w.file("log"))
	w.ok(err)
	if n := strings.Count(string(text), "panic"); n > 0 {
		t.Errorf("%d panics:\n%.20000s", n, text)
	}
	races, err := w.Races(t.Context())
	w.ok(err)
	for _, race := range races {
		w.ok(w.RemoveRace(t.Context(), race.ID, true))
	}
}

// siege is one caller of a daemon, which attacks its routes one after another. It
// has a box of its own.
type siege struct {
	*limitWorld
	box, network, address, token string
	limited                      bool // its limits may be any
}

func (s *siege) lay() {
	attacker := apitest.NewAttacker(uint64(len(s.box)), nil)
	if os.Getenv(holdVar) != "" {
		seed := uint64(time.Now().UnixNano())
		s.Logf("over %s with seed %d", s.network, seed)
		attacker = apitest.NewAttacker(seed, nil)
	}
	for _, route := range api.Routes() {
		n := hold(5, 400)
		if apitest.Endless(route) || dear[route] {
			n = hold(2, 40)
		}
		began := time.Now()
		for range n {
			attacker.Known = s.names(route)
			attack := attacker.Draw(route)
			if s.spares(attack) {
				continue
			}
			if !s.isReady() {
				return
			}
			s.attack(attack)
			s.limited = route == api.SetLimits.Route
		}
		if took := time.Since(began); testing.Verbose() && took > time.Second {
			s.Logf("%d attacks on %s over %s took %v", n, route.Name, s.network, took)
		}
	}
}

// dear are the routes whose answers take the daemon long.
var dear = map[*api.Route]bool{api.GetDoctor.Route: true, api.StartRace.Route: true, api.ForkBox.Route: true, api.ExportBox.Route: true, api.RepairStore.Route: true}

// names are of what is there. What lands in reality is a box in which nothing was
// ever changed.
func (s *siege) names(route *api.Route) map[string]string {
	names := map[string]string{"box": s.box, "exec": "1", "snapshot": "s", "race": "@newest", "receipt": "none", "template": "t", "token": "none", "secret": "x", "profile": "heap"}
	if slices.Contains(route.Scopes, api.Apply) {
		names["box"] = "clean"
	}
	return names
}

// spares leaves out what would make a filesystem for the store.
func (s *siege) spares(attack apitest.Attack) bool {
	return attack.Route == api.InitStore.Route && (attack.Kind == "nothing" || attack.Kind == "value")
}

// patience is how long an answer may take, which is only waited for where none
// comes, and how long a caller listens to what has no end.
func patience(route *api.Route) time.Duration {
	if apitest.Endless(route) {
		return 100 * time.Millisecond
	}
	return worldPatience
}

func (s *siege) attack(attack apitest.Attack) {
	conn, err := net.Dial(s.network, s.address)
	if err != nil {
		s.Errorf("%v: %v", attack, err)
		return
	}
	if err := attack.Send(conn, s.token, patience(attack.Route)); err != nil {
		s.Error(err)
	}
}

// isReady makes the box anew where an attack has taken it away.
func (s *siege) isReady() bool {
	box, err := s.Box(s.Context(), s.box)
	if err == nil && box.Paused == "" && !s.limited {
		return true
	}
	s.limited = false
	if err == nil {
		err = s.Remove(s.Context(), s.box, true)
	} else if forkbox.CodeOf(err) == forkbox.NotFound {
		err = nil
	}
	if err == nil {
		_, err = s.Create(s.Context(), api.CreateRequest{Name: s.box, Net: "none"})
	}
	if err != nil {
		s.Errorf("the box of the %s callers cannot be made again: %v", s.network, err)
	}
	return err == nil
}
