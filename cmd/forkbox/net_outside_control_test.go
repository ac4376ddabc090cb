//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// worldAddrs are addresses of one test's own.
type worldAddrs struct{ Server4, Server6, Canary4, Canary6, Private string }

// control is what tests say to the world, and ask of it.
func (o *outside) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /addrs", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, o.nextAddrs()) })
	mux.HandleFunc("POST /names", o.setNames)
	mux.HandleFunc("GET /asked", func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, o.names.askedBelow(r.FormValue("name")))
	})
	mux.HandleFunc("GET /heard", func(w http.ResponseWriter, r *http.Request) {
		heard, err := o.wire.heard(r.FormValue("addr"), r.FormValue("fence"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		sendJSON(w, heard)
	})
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, r *http.Request) { sendJSON(w, o.requestsTo(r.FormValue("host"))) })
	mux.HandleFunc("POST /release", func(_ http.ResponseWriter, r *http.Request) { o.release(r.FormValue("key")) })
	return mux
}

func sendJSON(w http.ResponseWriter, what any) {
	_ = json.NewEncoder(w).Encode(what)
}

func (o *outside) setNames(w http.ResponseWriter, r *http.Request) {
	var names map[string][][]string
	err := json.NewDecoder(r.Body).Decode(&names)
	for name, sets := range names {
		if err == nil {
			err = o.names.set(name, sets)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// nextAddrs gives each test addresses that no other has, so that what is heard
// at them can only be its own. They come round again after 200.
func (o *outside) nextAddrs() worldAddrs {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 54 + o.given%200 // the name server's is not among them
	o.given++
	return worldAddrs{
		Server4: fmt.Sprintf(serverFormat4, n), Server6: fmt.Sprintf(serverFormat6, n),
		Canary4: fmt.Sprintf(canaryFormat4, n), Canary6: fmt.Sprintf(canaryFormat6, n),
		Private: fmt.Sprintf(privateFormat, n),
	}
}

// held is closed when a test says that who waits for it may go on.
func (o *outside) held(key string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gates[key] == nil {
		o.gates[key] = make(chan struct{})
	}
	return o.gates[key]
}

func (o *outside) release(key string) {
	ch := o.held(key)
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

func numberOf(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.FormValue(name)); err == nil {
		return n
	}
	return otherwise
}
