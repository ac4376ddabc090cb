package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
)

// access says who may call a route.
type access string

const (
	// anyone who can open the socket: it tells nothing about anybody.
	anyone access = "anyone"
	// owner is a user whom this daemon serves, and only for their own boxes:
	// the engine finds no others.
	owner access = "owner"
)

type route struct {
	method, path string
	access       access
	serve        func(*Server, http.ResponseWriter, *http.Request) error
}

// routes is the API.
var routes = [...]route{
	{"GET", "/v1/version", anyone, (*Server).version},
	{"GET", "/v1/doctor", owner, (*Server).doctor},
	{"POST", "/v1/strays", owner, (*Server).mendStray},

	{"POST", "/v1/run", owner, (*Server).run},

	{"GET", "/v1/boxes", owner, (*Server).listBoxes},
	{"POST", "/v1/boxes", owner, (*Server).createBox},
	{"GET", "/v1/boxes/{box}", owner, (*Server).getBox},
	{"DELETE", "/v1/boxes/{box}", owner, (*Server).removeBox},
	{"POST", "/v1/boxes/{box}/start", owner, (*Server).startBox},
	{"POST", "/v1/boxes/{box}/stop", owner, (*Server).stopBox},
	{"GET", "/v1/boxes/{box}/changes", owner, (*Server).listChanges},
	{"GET", "/v1/boxes/{box}/status", owner, (*Server).boxStatus},
	{"POST", "/v1/boxes/{box}/apply", owner, (*Server).applyBox},
	{"POST", "/v1/boxes/{box}/discard", owner, (*Server).discardChanges},
	{"POST", "/v1/boxes/{box}/sync", owner, (*Server).syncBox},
	{"GET", "/v1/boxes/{box}/processes", owner, (*Server).listProcesses},

	{"PATCH", "/v1/boxes/{box}/limits", owner, (*Server).setLimits},
	{"POST", "/v1/boxes/{box}/extend", owner, (*Server).extendBox},
	{"POST", "/v1/boxes/{box}/pause", owner, (*Server).pauseBox},
	{"POST", "/v1/boxes/{box}/resume", owner, (*Server).resumeBox},
	{"GET", "/v1/boxes/{box}/stats", owner, (*Server).boxStats},

	{"GET", "/v1/boxes/{box}/net", owner, (*Server).getNet},
	{"PATCH", "/v1/boxes/{box}/net", owner, (*Server).changeNet},
	{"GET", "/v1/boxes/{box}/net/log", owner, (*Server).streamConns},
	{"POST", "/v1/boxes/{box}/net/explain", owner, (*Server).explainNet},
	{"GET", "/v1/boxes/{box}/ports", owner, (*Server).listPorts},
	{"POST", "/v1/boxes/{box}/ports", owner, (*Server).publishPort},
	{"DELETE", "/v1/boxes/{box}/ports", owner, (*Server).unpublishPort},
	{"POST", "/v1/boxes/{box}/open", owner, (*Server).openPort},
	{"POST", "/v1/boxes/{box}/wait", owner, (*Server).waitPort},

	{"GET", "/v1/boxes/{box}/snapshots", owner, (*Server).listSnapshots},
	{"POST", "/v1/boxes/{box}/snapshots", owner, (*Server).createSnapshot},
	{"DELETE", "/v1/boxes/{box}/snapshots/{snapshot}", owner, (*Server).removeSnapshot},
	{"POST", "/v1/boxes/{box}/rollback", owner, (*Server).rollbackBox},
	{"POST", "/v1/boxes/{box}/fork", owner, (*Server).forkBox},
	{"GET", "/v1/boxes/{box}/export", owner, (*Server).exportBox},
	{"PUT", "/v1/boxes/{box}/keep", owner, (*Server).keepBox},

	{"GET", "/v1/boxes/{box}/execs", owner, (*Server).listExecs},
	{"POST", "/v1/boxes/{box}/execs", owner, (*Server).startExec},
	{"GET", "/v1/boxes/{box}/execs/{exec}", owner, (*Server).getExec},
	{"GET", "/v1/boxes/{box}/execs/{exec}/wait", owner, (*Server).waitExec},
	{"POST", "/v1/boxes/{box}/execs/{exec}/signal", owner, (*Server).signalExec},
	{"POST", "/v1/boxes/{box}/execs/{exec}/kill", owner, (*Server).killExec},
	{"POST", "/v1/boxes/{box}/execs/{exec}/resize", owner, (*Server).resizeExec},
	{"POST", "/v1/boxes/{box}/execs/{exec}/suspend", owner, (*Server).suspendExec},
	{"GET", "/v1/boxes/{box}/execs/{exec}/logs", owner, (*Server).streamLogs},
	{"POST", "/v1/boxes/{box}/execs/{exec}/attach", owner, (*Server).attachExec},

	{"GET", "/v1/limits", owner, (*Server).listHolds},
	{"POST", "/v1/limits", owner, (*Server).wouldLimit},
	{"GET", "/v1/stats", owner, (*Server).allStats},
	{"GET", "/v1/events", owner, (*Server).streamEvents},
	{"GET", "/v1/queue", owner, (*Server).listQueue},

	{"GET", "/v1/family", owner, (*Server).family},
	{"GET", "/v1/templates", owner, (*Server).listTemplates},
	{"POST", "/v1/templates", owner, (*Server).createTemplate},
	{"DELETE", "/v1/templates/{template}", owner, (*Server).removeTemplate},
	{"POST", "/v1/templates/{template}/warm", owner, (*Server).warmTemplate},

	{"POST", "/v1/import", owner, (*Server).importBox},
	{"POST", "/v1/bases", owner, (*Server).addBase},

	{"GET", "/v1/store", owner, (*Server).getStore},
	{"POST", "/v1/store", owner, (*Server).initStore},
	{"PATCH", "/v1/store", owner, (*Server).growStore},
	{"DELETE", "/v1/store", owner, (*Server).removeStore},
	{"POST", "/v1/store/repair", owner, (*Server).repairStore},

	{"GET", "/v1/secrets", owner, (*Server).listSecrets},
	{"PUT", "/v1/secrets/{secret}", owner, (*Server).setSecret},
	{"DELETE", "/v1/secrets/{secret}", owner, (*Server).removeSecret},

	{"POST", "/v1/gc", owner, (*Server).collect},
	{"GET", "/v1/usage", owner, (*Server).usage},

	{"GET", "/v1/races", owner, (*Server).listRaces},
	{"POST", "/v1/races", owner, (*Server).startRace},
	{"GET", "/v1/races/{race}", owner, (*Server).getRace},
	{"DELETE", "/v1/races/{race}", owner, (*Server).removeRace},
	{"GET", "/v1/races/{race}/events", owner, (*Server).followRace},
	{"POST", "/v1/races/{race}/cancel", owner, (*Server).cancelRace},
	{"POST", "/v1/races/{race}/apply", owner, (*Server).applyRace},
	{"GET", "/v1/races/{race}/log", owner, (*Server).streamRaceLog},

	{"GET", "/v1/receipts", owner, (*Server).listReceipts},
	{"GET", "/v1/receipts/{receipt}", owner, (*Server).getReceipt},
	{"POST", "/v1/receipts/{receipt}/undo", owner, (*Server).undoReceipt},
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, s.guard(r))
	}
	mux.Handle("/", s.guard(route{access: anyone, serve: (*Server).noRoute}))
	return mux
}

func (s *Server) noRoute(_ http.ResponseWriter, r *http.Request) error {
	return forkbox.Errorf(forkbox.NotFound, "answer", "there is no %s %s", r.Method, r.URL.Path).
		Hint("the client may be newer than the daemon; see: forkbox version")
}
