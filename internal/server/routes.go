package server

import (
	"net/http"
	"path"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// The routes of one noun each. They answer with what the server has.
type (
	daemonRoutes   struct{ *Server }
	boxRoutes      struct{ *Server }
	changeRoutes   struct{ *Server }
	limitRoutes    struct{ *Server }
	netRoutes      struct{ *Server }
	snapshotRoutes struct{ *Server }
	execRoutes     struct{ *Server }
	fileRoutes     struct{ *Server }
	raceRoutes     struct{ *Server }
	storeRoutes    struct{ *Server }

	operationRoutes struct{ *Server }
)

// handlers say what serves each route of the API. What the routes are, and who
// may call them, is in package api.
var handlers = [...]handler{
	reply(api.GetVersion, daemonRoutes.getVersion),
	write(api.GetLiveness, daemonRoutes.getLiveness),
	write(api.GetReadiness, daemonRoutes.getReadiness),
	write(api.GetMetrics, daemonRoutes.getMetrics),
	write(api.GetProfile, daemonRoutes.getProfile),
	write(api.GetOpenAPI, daemonRoutes.getOpenAPI),
	write(api.GetDocs, daemonRoutes.getDocs),
	reply(api.GetDoctor, daemonRoutes.getDoctor),
	reply(api.GetConfig, daemonRoutes.getConfig),
	reply(api.MendStray, daemonRoutes.mendStray),
	reply(api.GetQueue, daemonRoutes.getQueue),
	reply(api.ListServices, daemonRoutes.listServices),
	reply(api.RefreshServices, daemonRoutes.refreshServices),
	write(api.ReadEvents, daemonRoutes.readEvents),

	reply(api.ListBoxes, boxRoutes.listBoxes),
	reply(api.CreateBox, boxRoutes.createBox),
	reply(api.GetBox, boxRoutes.getBox),
	reply(api.RemoveBox, boxRoutes.removeBox),
	reply(api.StartBox, boxRoutes.startBox),
	reply(api.ControlService, boxRoutes.controlService),
	reply(api.StopBox, boxRoutes.stopBox),
	reply(api.KeepBox, boxRoutes.keepBox),
	reply(api.ListProcesses, boxRoutes.listProcesses),

	write(api.ListChanges, changeRoutes.listChanges),
	reply(api.GetStatus, changeRoutes.getStatus),
	reply(api.ApplyBox, changeRoutes.applyBox),
	reply(api.DiscardChanges, changeRoutes.discardChanges),
	reply(api.SyncBox, changeRoutes.syncBox),
	reply(api.ListReceipts, changeRoutes.listReceipts),
	reply(api.GetReceipt, changeRoutes.getReceipt),
	reply(api.UndoReceipt, changeRoutes.undoReceipt),

	reply(api.SetLimits, limitRoutes.setLimits),
	reply(api.ExtendBox, limitRoutes.extendBox),
	reply(api.PauseBox, limitRoutes.pauseBox),
	reply(api.ResumeBox, limitRoutes.resumeBox),
	reply(api.GetStats, limitRoutes.getStats),
	reply(api.ListStats, limitRoutes.listStats),
	reply(api.ListLimits, limitRoutes.listLimits),
	reply(api.TryLimits, limitRoutes.tryLimits),

	reply(api.GetNet, netRoutes.getNet),
	reply(api.ChangeNet, netRoutes.changeNet),
	write(api.ListConns, netRoutes.streamConns),
	reply(api.ExplainNet, netRoutes.explainNet),
	reply(api.ListPorts, netRoutes.listPorts),
	reply(api.PublishPort, netRoutes.publishPort),
	reply(api.UnpublishPort, netRoutes.unpublishPort),
	reply(api.OpenPort, netRoutes.openPort),
	reply(api.WaitPort, netRoutes.waitPort),

	reply(api.ListSnapshots, snapshotRoutes.listSnapshots),
	reply(api.CreateSnapshot, snapshotRoutes.createSnapshot),
	reply(api.RemoveSnapshot, snapshotRoutes.removeSnapshot),
	reply(api.RollbackBox, snapshotRoutes.rollbackBox),
	reply(api.ForkBox, snapshotRoutes.forkBox),
	reply(api.GetFamily, snapshotRoutes.getFamily),
	reply(api.ListTemplates, snapshotRoutes.listTemplates),
	reply(api.CreateTemplate, snapshotRoutes.createTemplate),
	reply(api.RemoveTemplate, snapshotRoutes.removeTemplate),
	reply(api.WarmTemplate, snapshotRoutes.warmTemplate),
	write(api.ExportBox, snapshotRoutes.exportBox),
	write(api.ImportBox, snapshotRoutes.importBox),
	write(api.AddBase, snapshotRoutes.addBase),

	write(api.RunCommand, execRoutes.run),
	reply(api.ListExecs, execRoutes.listExecs),
	write(api.StartExec, execRoutes.startExec),
	reply(api.GetExec, execRoutes.getExec),
	reply(api.WaitExec, execRoutes.waitExec),
	reply(api.SignalExec, execRoutes.signalExec),
	reply(api.KillExec, execRoutes.killExec),
	reply(api.ResizeExec, execRoutes.resizeExec),
	reply(api.SuspendExec, execRoutes.suspendExec),
	write(api.ReadLogs, execRoutes.streamLogs),
	write(api.AttachExec, execRoutes.attachExec),
	write(api.StreamRun, execRoutes.streamRun),
	write(api.StreamExec, execRoutes.streamExec),
	write(api.JoinExec, execRoutes.joinExec),

	write(api.ReadFile, fileRoutes.readFile),
	write(api.WriteFile, fileRoutes.writeFile),
	reply(api.RemoveFile, fileRoutes.removeFile),
	reply(api.StatFile, fileRoutes.statFile),
	reply(api.ListFiles, fileRoutes.listFiles),
	reply(api.MakeDir, fileRoutes.makeDir),
	reply(api.MoveFile, fileRoutes.moveFile),
	write(api.WatchFiles, fileRoutes.watchFiles),
	write(api.TarOut, fileRoutes.tarOut),
	write(api.TarIn, fileRoutes.tarIn),

	reply(api.GetStore, storeRoutes.getStore),
	reply(api.InitStore, storeRoutes.initStore),
	reply(api.GrowStore, storeRoutes.growStore),
	reply(api.RemoveStore, storeRoutes.removeStore),
	reply(api.RepairStore, storeRoutes.repairStore),
	reply(api.CollectBoxes, storeRoutes.collectBoxes),
	reply(api.GetUsage, storeRoutes.getUsage),
	reply(api.ListSecrets, storeRoutes.listSecrets),
	{api.SetSecret.Route, setSecret},
	reply(api.RemoveSecret, storeRoutes.removeSecret),

	reply(api.ListTokens, daemonRoutes.listTokens),
	reply(api.CreateToken, daemonRoutes.createToken),
	reply(api.RemoveToken, daemonRoutes.removeToken),
	reply(api.ReadAudit, daemonRoutes.readAudit),
	reply(api.ListListeners, daemonRoutes.listListeners),

	reply(api.ListOperations, operationRoutes.listOperations),
	reply(api.GetOperation, operationRoutes.getOperation),
	write(api.FollowOperation, operationRoutes.followOperation),
	reply(api.CancelOperation, operationRoutes.cancelOperation),

	reply(api.ListRaces, raceRoutes.listRaces),
	reply(api.StartRace, raceRoutes.startRace),
	reply(api.GetRace, raceRoutes.getRace),
	reply(api.RemoveRace, raceRoutes.removeRace),
	write(api.FollowRace, raceRoutes.followRace),
	reply(api.CancelRace, raceRoutes.cancelRace),
	reply(api.ApplyRace, raceRoutes.applyRace),
	write(api.ReadRaceLog, raceRoutes.streamRaceLog),
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, h := range handlers {
		mux.Handle(h.Method+" "+h.Path, s.guard(h))
	}
	none := s.guard(handler{&noRoute, (*Server).refuseRoute})
	mux.Handle("/", none)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isClean(r.URL.EscapedPath()) {
			none.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isClean says whether a path has nothing in it that a mux would clean away: it
// would lead callers to the cleaned path, ahead of the guard, and without box in
// /v1/boxes//start there is another route.
func isClean(p string) bool {
	return path.Clean(p) == strings.TrimSuffix(p, "/") || p == "/"
}

// noRoute stands for all that the API does not have.
var noRoute = api.Route{Name: "none"}

func (s *Server) refuseRoute(_ http.ResponseWriter, r *http.Request) error {
	return forkbox.Errorf(forkbox.NotFound, "answer", "there is no %s %s", r.Method, r.URL.Path).
		Hint("the client may be newer than the daemon; see: forkbox version")
}
