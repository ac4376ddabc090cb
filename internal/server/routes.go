package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
)

// access says who may call a route.
type access string

const (
	// anyone who can open the socket: it tells nothing about any user.
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

// The routes of one noun each. They answer with what the server has.
type (
	boxRoutes      struct{ *Server }
	changeRoutes   struct{ *Server }
	limitRoutes    struct{ *Server }
	netRoutes      struct{ *Server }
	snapshotRoutes struct{ *Server }
	execRoutes     struct{ *Server }
	raceRoutes     struct{ *Server }
	storeRoutes    struct{ *Server }
)

// on is a route of a noun as one of the server.
func on[Routes ~struct{ *Server }](serve func(Routes, http.ResponseWriter, *http.Request) error) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		return serve(Routes(struct{ *Server }{s}), w, r)
	}
}

// routes is the API.
var routes = [...]route{
	{"GET", "/v1/version", anyone, (*Server).version},
	{"GET", "/v1/doctor", owner, (*Server).doctor},
	{"POST", "/v1/strays", owner, (*Server).mendStray},

	{"POST", "/v1/run", owner, on(execRoutes.run)},

	{"GET", "/v1/boxes", owner, on(boxRoutes.listBoxes)},
	{"POST", "/v1/boxes", owner, on(boxRoutes.createBox)},
	{"GET", "/v1/boxes/{box}", owner, on(boxRoutes.getBox)},
	{"DELETE", "/v1/boxes/{box}", owner, on(boxRoutes.removeBox)},
	{"POST", "/v1/boxes/{box}/start", owner, on(boxRoutes.startBox)},
	{"POST", "/v1/boxes/{box}/stop", owner, on(boxRoutes.stopBox)},
	{"GET", "/v1/boxes/{box}/changes", owner, on(changeRoutes.listChanges)},
	{"GET", "/v1/boxes/{box}/status", owner, on(changeRoutes.boxStatus)},
	{"POST", "/v1/boxes/{box}/apply", owner, on(changeRoutes.applyBox)},
	{"POST", "/v1/boxes/{box}/discard", owner, on(changeRoutes.discardChanges)},
	{"POST", "/v1/boxes/{box}/sync", owner, on(changeRoutes.syncBox)},
	{"GET", "/v1/boxes/{box}/processes", owner, on(boxRoutes.listProcesses)},

	{"PATCH", "/v1/boxes/{box}/limits", owner, on(limitRoutes.setLimits)},
	{"POST", "/v1/boxes/{box}/extend", owner, on(limitRoutes.extendBox)},
	{"POST", "/v1/boxes/{box}/pause", owner, on(limitRoutes.pauseBox)},
	{"POST", "/v1/boxes/{box}/resume", owner, on(limitRoutes.resumeBox)},
	{"GET", "/v1/boxes/{box}/stats", owner, on(limitRoutes.boxStats)},

	{"GET", "/v1/boxes/{box}/net", owner, on(netRoutes.getNet)},
	{"PATCH", "/v1/boxes/{box}/net", owner, on(netRoutes.changeNet)},
	{"GET", "/v1/boxes/{box}/net/log", owner, on(netRoutes.streamConns)},
	{"POST", "/v1/boxes/{box}/net/explain", owner, on(netRoutes.explainNet)},
	{"GET", "/v1/boxes/{box}/ports", owner, on(netRoutes.listPorts)},
	{"POST", "/v1/boxes/{box}/ports", owner, on(netRoutes.publishPort)},
	{"DELETE", "/v1/boxes/{box}/ports", owner, on(netRoutes.unpublishPort)},
	{"POST", "/v1/boxes/{box}/open", owner, on(netRoutes.openPort)},
	{"POST", "/v1/boxes/{box}/wait", owner, on(netRoutes.waitPort)},

	{"GET", "/v1/boxes/{box}/snapshots", owner, on(snapshotRoutes.listSnapshots)},
	{"POST", "/v1/boxes/{box}/snapshots", owner, on(snapshotRoutes.createSnapshot)},
	{"DELETE", "/v1/boxes/{box}/snapshots/{snapshot}", owner, on(snapshotRoutes.removeSnapshot)},
	{"POST", "/v1/boxes/{box}/rollback", owner, on(snapshotRoutes.rollbackBox)},
	{"POST", "/v1/boxes/{box}/fork", owner, on(snapshotRoutes.forkBox)},
	{"GET", "/v1/boxes/{box}/export", owner, on(snapshotRoutes.exportBox)},
	{"PUT", "/v1/boxes/{box}/keep", owner, on(storeRoutes.keepBox)},

	{"GET", "/v1/boxes/{box}/execs", owner, on(execRoutes.listExecs)},
	{"POST", "/v1/boxes/{box}/execs", owner, on(execRoutes.startExec)},
	{"GET", "/v1/boxes/{box}/execs/{exec}", owner, on(execRoutes.getExec)},
	{"GET", "/v1/boxes/{box}/execs/{exec}/wait", owner, on(execRoutes.waitExec)},
	{"POST", "/v1/boxes/{box}/execs/{exec}/signal", owner, on(execRoutes.signalExec)},
	{"POST", "/v1/boxes/{box}/execs/{exec}/kill", owner, on(execRoutes.killExec)},
	{"POST", "/v1/boxes/{box}/execs/{exec}/resize", owner, on(execRoutes.resizeExec)},
	{"POST", "/v1/boxes/{box}/execs/{exec}/suspend", owner, on(execRoutes.suspendExec)},
	{"GET", "/v1/boxes/{box}/execs/{exec}/logs", owner, on(execRoutes.streamLogs)},
	{"POST", "/v1/boxes/{box}/execs/{exec}/attach", owner, on(execRoutes.attachExec)},

	{"GET", "/v1/limits", owner, on(limitRoutes.listHolds)},
	{"POST", "/v1/limits", owner, on(limitRoutes.wouldLimit)},
	{"GET", "/v1/stats", owner, on(limitRoutes.allStats)},
	{"GET", "/v1/events", owner, (*Server).streamEvents},
	{"GET", "/v1/queue", owner, (*Server).listQueue},

	{"GET", "/v1/family", owner, on(snapshotRoutes.family)},
	{"GET", "/v1/templates", owner, on(snapshotRoutes.listTemplates)},
	{"POST", "/v1/templates", owner, on(snapshotRoutes.createTemplate)},
	{"DELETE", "/v1/templates/{template}", owner, on(snapshotRoutes.removeTemplate)},
	{"POST", "/v1/templates/{template}/warm", owner, on(snapshotRoutes.warmTemplate)},

	{"POST", "/v1/import", owner, on(snapshotRoutes.importBox)},
	{"POST", "/v1/bases", owner, on(snapshotRoutes.addBase)},

	{"GET", "/v1/store", owner, on(storeRoutes.getStore)},
	{"POST", "/v1/store", owner, on(storeRoutes.initStore)},
	{"PATCH", "/v1/store", owner, on(storeRoutes.growStore)},
	{"DELETE", "/v1/store", owner, on(storeRoutes.removeStore)},
	{"POST", "/v1/store/repair", owner, on(storeRoutes.repairStore)},

	{"GET", "/v1/secrets", owner, on(storeRoutes.listSecrets)},
	{"PUT", "/v1/secrets/{secret}", owner, on(storeRoutes.setSecret)},
	{"DELETE", "/v1/secrets/{secret}", owner, on(storeRoutes.removeSecret)},

	{"POST", "/v1/gc", owner, on(storeRoutes.collect)},
	{"GET", "/v1/usage", owner, on(storeRoutes.usage)},

	{"GET", "/v1/races", owner, on(raceRoutes.listRaces)},
	{"POST", "/v1/races", owner, on(raceRoutes.startRace)},
	{"GET", "/v1/races/{race}", owner, on(raceRoutes.getRace)},
	{"DELETE", "/v1/races/{race}", owner, on(raceRoutes.removeRace)},
	{"GET", "/v1/races/{race}/events", owner, on(raceRoutes.followRace)},
	{"POST", "/v1/races/{race}/cancel", owner, on(raceRoutes.cancelRace)},
	{"POST", "/v1/races/{race}/apply", owner, on(raceRoutes.applyRace)},
	{"GET", "/v1/races/{race}/log", owner, on(raceRoutes.streamRaceLog)},

	{"GET", "/v1/receipts", owner, on(changeRoutes.listReceipts)},
	{"GET", "/v1/receipts/{receipt}", owner, on(changeRoutes.getReceipt)},
	{"POST", "/v1/receipts/{receipt}/undo", owner, on(changeRoutes.undoReceipt)},
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
