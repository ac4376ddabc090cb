package api

import (
	"net/http"

	"github.com/forkbox/forkbox"
)

// The API, a row for each route. The types are those of the request's body and
// of the answer. The sentence is the route's description in the OpenAPI document.

// The daemon.
var (
	GetVersion = get[Version]("getVersion", "/v1/version", Open, "What the daemon was built from.")
	GetOpenAPI = get[None]("getOpenAPI", "/openapi.json", Open, "The API as an OpenAPI 3.1 document.", givesRaw)
	GetDocs    = get[None]("getDocs", "/docs", Open, "The API as a page for people.", givesRaw)
	GetDoctor  = get[CheckList]("getDoctor", "/v1/doctor", Read, "Tries what this host can do, for real, and looks for what interrupted applies left.",
		text("dir", "Where to look for strays."))
	GetConfig       = get[Configuration]("getConfig", "/v1/config", Read, "What the daemon goes by, and where each part of it is from. Of what is said of users, only what the caller may know.")
	MendStray       = post[StrayRequest, forkbox.StrayMended]("mendStray", "/v1/strays", Apply, "Restores or deletes what an interrupted apply left in reality.", exact)
	GetQueue        = get[Queue]("getQueue", "/v1/queue", Read, "Who waits for the host to have room.")
	ListServices    = get[ServiceList]("listServices", "/v1/services", Read, "What listens on this machine, and where it keeps its data: the caller's own services, or everyone's for root.")
	RefreshServices = post[RefreshRequest, StillList]("refreshServices", "/v1/services/refresh", Policy, "Takes the data of services anew, for the boxes to come.", async)
)

// The daemon, seen from outside.
var (
	GetLiveness  = get[Health]("getLiveness", "/healthz", Open, "Whether the daemon answers; each part's state is there for information.")
	GetReadiness = get[Health]("getReadiness", "/readyz", Open, "Whether the daemon can do its work; the status is 503 where it cannot, and the parts say why.")
	GetMetrics   = get[None]("getMetrics", "/metrics", Read, "Metrics in the text format of Prometheus: totals, nothing about any one user.", givesRaw)
	GetProfile   = get[None]("getProfile", "/debug/pprof/{profile}", Admin, "A profile of the daemon, for go tool pprof: profile, heap, goroutine, trace and others.", givesRaw,
		number("seconds", "For how long to look."), number("debug", "1 and 2 are text for people."), flag("gc", "Collect garbage before."))
)

// Boxes.
var (
	ListBoxes = get[BoxList]("listBoxes", "/v1/boxes", Read, "The caller's boxes.", paged)
	CreateBox = post[CreateRequest, forkbox.Box]("createBox", "/v1/boxes", Boxes, "Makes a box. It is at rest: nothing runs in it.", made)
	GetBox    = get[forkbox.Box]("getBox", "/v1/boxes/{box}", Read, "One box, by name, id or the beginning of one. Its ETag is what If-Match takes; with If-None-Match it is answered with 304 as long as the box is the same.")
	RemoveBox = remove("removeBox", "/v1/boxes/{box}", Boxes, "Deletes a box with its changes.", ifBox,
		flag("force", "Also one that runs."))
	StartBox       = post[None, forkbox.Box]("startBox", "/v1/boxes/{box}/start", Boxes, "Wakes a box and keeps it running until it is stopped.")
	StopBox        = post[StopRequest, forkbox.Box]("stopBox", "/v1/boxes/{box}/stop", Boxes, "Ends every process in a box and puts it to rest.", ifBox, optional)
	ControlService = post[ServiceRequest, forkbox.Box]("controlService", "/v1/boxes/{box}/services/{service}", Boxes, "Starts, stops or restarts a service of a box. One that was stopped does not come back with the box.")
	KeepBox        = put[KeepRequest, forkbox.Box]("keepBox", "/v1/boxes/{box}/keep", Boxes, "Says whether gc leaves a box alone.", ifBox)
	ListProcesses  = get[ProcessList]("listProcesses", "/v1/boxes/{box}/processes", Read, "What runs in a box.")
)

// What boxes changed, and what becomes of it.
var (
	ListChanges = get[ChangeList]("listChanges", "/v1/boxes/{box}/changes", Read, "What a box changed. The list is sent as it is found; what fails in the middle is a member error at the end.",
		texts("path", "Only what is at or below this path."), flag("exact", "Only what is at the paths."), flag("all", "Outside the workspace, too."),
		text("against", "Another box, or BOX@SNAPSHOT, to compare with."), flag("patch", "With the text that differs."), flag("stat", "With counts of lines."),
		flag("hash", "With the hash that an apply can be bound to."), flag("renames", "Look for moved files."))
	GetStatus      = get[forkbox.BoxStatus]("getStatus", "/v1/boxes/{box}/status", Read, "How far reality has moved on from a box's base.")
	ApplyBox       = post[forkbox.ApplySpec, forkbox.Receipt]("applyBox", "/v1/boxes/{box}/apply", Apply, "Lands changes of a box in reality, all or nothing. A dry run answers with a receipt without an id.", async, ifBox)
	DiscardChanges = post[DiscardRequest, DiscardResult]("discardChanges", "/v1/boxes/{box}/discard", Boxes, "Puts paths of a box back to what they were.", async, ifBox)
	SyncBox        = post[None, forkbox.SyncResult]("syncBox", "/v1/boxes/{box}/sync", Boxes, "Brings what reality changed since into a box.", async, ifBox)
	ListReceipts   = get[ReceiptList]("listReceipts", "/v1/receipts", Read, "What was applied, the newest first.", paged)
	GetReceipt     = get[forkbox.Receipt]("getReceipt", "/v1/receipts/{receipt}", Read, "One apply, with its paths.")
	UndoReceipt    = post[UndoRequest, forkbox.Receipt]("undoReceipt", "/v1/receipts/{receipt}/undo", Apply, "Takes an apply back.", async)
)

// What boxes use.
var (
	SetLimits  = patch[forkbox.Wish, forkbox.Box]("setLimits", "/v1/boxes/{box}/limits", Policy, "Changes limits of a box, at once also of one that runs. What is not named stays.", ifBox, exact)
	ExtendBox  = post[ExtendRequest, forkbox.Box]("extendBox", "/v1/boxes/{box}/extend", Policy, "Has a box end later.", ifBox, exact)
	PauseBox   = post[None, forkbox.Box]("pauseBox", "/v1/boxes/{box}/pause", Boxes, "Has everything in a box stand still.", ifBox)
	ResumeBox  = post[None, forkbox.Box]("resumeBox", "/v1/boxes/{box}/resume", Boxes, "Has a paused box go on.", ifBox)
	GetStats   = get[forkbox.BoxStats]("getStats", "/v1/boxes/{box}/stats", Read, "What a box uses.", flag("series", "Also what it used in the last hour."))
	ListStats  = get[StatsList]("listStats", "/v1/stats", Read, "What each box of the caller's uses.")
	ListLimits = get[HoldList]("listLimits", "/v1/limits", Read, "How each resource can be limited on this host.")
	TryLimits  = post[forkbox.Wish, PolicyDocument]("tryLimits", "/v1/limits", Read, "The limits that a box would get. It makes none.", exact)
)

// What boxes reach, and who reaches them.
var (
	GetNet    = get[NetDocument]("getNet", "/v1/boxes/{box}/net", Read, "What a box may reach, and who said so.")
	ChangeNet = patch[NetChange, forkbox.Box]("changeNet", "/v1/boxes/{box}/net", Policy, "Changes the rules of a box, at once also of one that runs.", ifBox, exact)
	ListConns = get[ConnLine]("listConns", "/v1/boxes/{box}/net/log", Read, "What a box tried to reach, the oldest first.", lines,
		number("after", "Only later ones than this id."), number("limit", "No more than the latest so many."), flag("follow", "Go on with what is tried from now on."))
	ExplainNet    = post[ExplainRequest, forkbox.NetVerdict]("explainNet", "/v1/boxes/{box}/net/explain", Read, "What the gate would make of a target. It connects to nothing.", exact)
	ListPorts     = get[PortList]("listPorts", "/v1/boxes/{box}/ports", Read, "The published ports of a box.")
	PublishPort   = post[forkbox.Port, forkbox.Port]("publishPort", "/v1/boxes/{box}/ports", Policy, "Has a port of a box answer on the host's loopback.", ifBox, exact, made)
	UnpublishPort = remove("unpublishPort", "/v1/boxes/{box}/ports", Policy, "Takes that back.", ifBox,
		number("port", "Of the box."), number("host", "Of the host; without it all that the box's port is published as."))
	OpenPort = post[OpenRequest, OpenResult]("openPort", "/v1/boxes/{box}/open", Boxes, "A URL under which a browser on the host reaches a port of a box.", exact)
	WaitPort = post[WaitPortRequest, None]("waitPort", "/v1/boxes/{box}/wait", Read, "Answers when something in the box accepts connections on a port.", exact)
)

// Snapshots, forks, templates.
var (
	ListSnapshots  = get[SnapshotList]("listSnapshots", "/v1/boxes/{box}/snapshots", Read, "The snapshots of a box, the oldest first.", paged)
	CreateSnapshot = post[forkbox.SnapshotSpec, forkbox.Snapshot]("createSnapshot", "/v1/boxes/{box}/snapshots", Boxes, "Saves what a box is now. Whatever runs in it goes on.", async, ifBox, made)
	RemoveSnapshot = remove("removeSnapshot", "/v1/boxes/{box}/snapshots/{snapshot}", Boxes, "Forgets a snapshot.",
		flag("squash", "Also one that others were forked from: what they need of it becomes theirs."))
	RollbackBox = post[forkbox.RollbackSpec, forkbox.Rollback]("rollbackBox", "/v1/boxes/{box}/rollback", Boxes, "Makes a box what it was, and keeps what it is as a snapshot.", async, ifBox)
	ForkBox     = post[ForkRequest, forkbox.Fork]("forkBox", "/v1/boxes/{box}/fork", Boxes, "Makes boxes out of a box as it is now, or of a snapshot.", async, made,
		text("snapshot", "Of this one; an empty name is the last."))
	GetFamily      = get[forkbox.Family]("getFamily", "/v1/family", Read, "All that the caller forked.")
	ListTemplates  = get[TemplateList]("listTemplates", "/v1/templates", Read, "What boxes can be begun as.", paged)
	CreateTemplate = post[forkbox.TemplateSpec, forkbox.Template]("createTemplate", "/v1/templates", Boxes, "Makes a start for boxes out of a box or a snapshot.", async, made)
	RemoveTemplate = remove("removeTemplate", "/v1/templates/{template}", Boxes, "Forgets a template. Boxes that were made of it stay.")
	WarmTemplate   = post[WarmRequest, forkbox.Template]("warmTemplate", "/v1/templates/{template}/warm", Boxes, "Keeps boxes of a template ready.")
	ExportBox      = get[None]("exportBox", "/v1/boxes/{box}/export", Files, "A box or snapshot as an OCI image in a tar.", long, givesRaw,
		text("snapshot", "This one; an empty name is the last."))
	ImportBox = post[None, forkbox.Import]("importBox", "/v1/import", Boxes, "Makes a box of an OCI image in a tar.", long, takesRaw, made,
		text("name", "Of the box."), text("dir", "Its working directory."), text("net", "Its network."), text("wish", "Its limits, as JSON."), text("net_wish", "What it is to reach, as JSON."))
	AddBase = post[None, forkbox.Base]("addBase", "/v1/bases", Boxes, "Unpacks what boxes can be made of.", long, takesRaw, made,
		text("kind", "oci or tar."), text("name", "For people."))
)

// Commands in boxes.
var (
	RunCommand = post[RunRequest, None]("runCommand", "/v1/run", Boxes, "Makes a box and runs a command in it, over a connection that is upgraded, or with its output as the answer.", also(Exec), socket, streamed)
	ListExecs  = get[ExecList]("listExecs", "/v1/boxes/{box}/execs", Read, "What was run in a box, the oldest first.", paged)
	StartExec  = post[ExecRequest, forkbox.Exec]("startExec", "/v1/boxes/{box}/execs", Exec, "Runs a command in a box. Its output is in its log, on the connection where that is upgraded, or the answer where stream asks for that.", made, streamed)
	GetExec    = get[forkbox.Exec]("getExec", "/v1/boxes/{box}/execs/{exec}", Read, "One command that was run.")
	WaitExec   = get[forkbox.Exec]("waitExec", "/v1/boxes/{box}/execs/{exec}/wait", Read, "Answers when a command has ended.",
		text("on_disconnect", "kill: end the command when the caller goes away, which takes the scope exec."))
	SignalExec  = post[SignalRequest, None]("signalExec", "/v1/boxes/{box}/execs/{exec}/signal", Exec, "Sends a signal to a command.")
	KillExec    = post[KillRequest, None]("killExec", "/v1/boxes/{box}/execs/{exec}/kill", Exec, "Ends a command with everything that it started.", optional)
	ResizeExec  = post[forkbox.Size, None]("resizeExec", "/v1/boxes/{box}/execs/{exec}/resize", Exec, "Changes the size of a command's terminal.")
	SuspendExec = post[None, Suspended]("suspendExec", "/v1/boxes/{box}/execs/{exec}/suspend", Exec, "Stops a command as ctrl-Z on its terminal would.")
	ReadLogs    = get[LogLine]("readLogs", "/v1/boxes/{box}/execs/{exec}/logs", Read, "What a command wrote.", lines, flag("follow", "Go on until it ends."))
	AttachExec  = post[None, None]("attachExec", "/v1/boxes/{box}/execs/{exec}/attach", Exec, "Joins a command that runs, over a connection that is upgraded.", socket,
		flag("last", "The end of the caller's input is the end of the command's."))
	StreamRun  = get[None]("streamRun", "/v1/run/stream", Boxes, "Makes a box and runs a command in it, over a WebSocket.", also(Exec), socket)
	StreamExec = get[None]("streamExec", "/v1/boxes/{box}/execs/stream", Exec, "Runs a command in a box, over a WebSocket.", socket)
	JoinExec   = get[None]("joinExec", "/v1/boxes/{box}/execs/{exec}/stream", Exec, "Goes on with a command's stream, or joins a command that runs in the background, over a WebSocket.", socket)
)

// Files of boxes. Paths are the box's own, and are resolved in the box; a relative one
// begins in the box's directory. A box at rest is woken.
var (
	ReadFile  = get[None]("readFile", "/v1/boxes/{box}/files", Files, "The content of a file. It takes Range, If-Range, If-None-Match; HEAD answers without it. Forkbox-Mode has the file's mode.", givesRaw, aPath)
	WriteFile = put[None, File]("writeFile", "/v1/boxes/{box}/files", Files, "Replaces a file, or makes one, when all of the body has come. If-Match with a tag, or If-None-Match: *, says what has to be there before; else it is answered with 412.", ifFile, takesRaw, made, aPath,
		text("mode", "Its permissions, like 0644; without it those of the file that it replaces."), text("modified", "Its time, in RFC 3339."), parents)
	RemoveFile = remove("removeFile", "/v1/boxes/{box}/files", Files, "Removes a file, a symlink and not what it leads to, or an empty directory.", aPath,
		flag("recursive", "Also a directory with what is in it."))
	StatFile  = get[File]("statFile", "/v1/boxes/{box}/files/stat", Files, "What is at a path.", aPath, flag("follow", "What a symlink leads to."))
	ListFiles = get[FileList]("listFiles", "/v1/boxes/{box}/files/list", Files, "What is in a directory, sorted.", aPath, paged,
		number("depth", "How many levels of directories; 1 if it is not said."))
	MakeDir  = post[None, File]("makeDir", "/v1/boxes/{box}/files/mkdir", Files, "Makes a directory.", aPath, text("mode", "Its permissions, like 0755."), parents)
	MoveFile = post[None, File]("moveFile", "/v1/boxes/{box}/files/move", Files, "Gives a file or directory another path.", aPath, text("to", "Where to."),
		flag("replace", "A file that is there is replaced."))
	WatchFiles = get[FileChange]("watchFiles", "/v1/boxes/{box}/files/watch", Files, "What is changed at a path from now on, until the path is removed.", lines, aPath,
		flag("recursive", "Also in the directories below."))
	TarOut = get[None]("tarOut", "/v1/boxes/{box}/files/tar", Files, "A directory as a tar archive, with names relative to it, or one file. The trailer Forkbox-Skipped has what was left out, in base64.", givesRaw, aPath)
	TarIn  = put[None, TarResult]("tarIn", "/v1/boxes/{box}/files/tar", Files, "Unpacks a tar archive into a directory, which is made if it is not there. A name in it that leads out of the directory ends it.", takesRaw, made, aPath, parents,
		flag("owners", "Owners and setuid bits of the archive are restored, where the box's user may."))
)

func aPath(r *Route)   { text("path", "In the box; it can be any bytes, percent-encoded.")(r) }
func parents(r *Route) { flag("parents", "The directories above it are made.")(r) }

// What happens.
var ReadEvents = get[EventLine]("readEvents", "/v1/events", Read, "What happened, the oldest first. With Accept: text/event-stream it goes on with what happens.", lines,
	text("box", "Only of this one."), text("kind", "Only these kinds, with commas between them; box.* is all of boxes."),
	text("after", "Only later ones than this id, as Last-Event-ID does; latest is from now on."))

// The store, and what is kept in it.
var (
	GetStore     = get[Store]("getStore", "/v1/store", Admin, "Where boxes are kept, and how much room there is.")
	InitStore    = post[StoreRequest, Store]("initStore", "/v1/store", Admin, "Makes a pool and keeps boxes in it from now on.", exact, made)
	GrowStore    = patch[StoreRequest, Store]("growStore", "/v1/store", Admin, "Makes the pool larger.", exact)
	RemoveStore  = remove("removeStore", "/v1/store", Admin, "Removes the pool. There must be no box.")
	RepairStore  = post[None, forkbox.Repair]("repairStore", "/v1/store/repair", Admin, "Brings back to the ledger what the store has.", async)
	CollectBoxes = post[forkbox.GCSpec, forkbox.GC]("collectBoxes", "/v1/gc", Boxes, "Clears boxes away, and what nothing needs any more.", async, exact)
	GetUsage     = get[forkbox.Usage]("getUsage", "/v1/usage", Read, "What takes the space of the caller's boxes.")
	ListSecrets  = get[SecretList]("listSecrets", "/v1/secrets", Secrets, "The names of kept secrets, and the hosts that they are sent to.")
	SetSecret    = put[SecretRequest, None]("setSecret", "/v1/secrets/{secret}", Secrets, "Keeps a secret's value, in place of the one of that name.", exact, keyed)
	RemoveSecret = remove("removeSecret", "/v1/secrets/{secret}", Secrets, "Forgets a secret.")
)

// Who may call the daemon, and from where.
var (
	ListTokens  = get[TokenList]("listTokens", "/v1/tokens", Admin, "The caller's tokens, without their secrets; those of all users for root.")
	CreateToken = post[TokenRequest, NewToken]("createToken", "/v1/tokens", Admin, "Makes a token. This is the only answer that has its secret.", exact, made)
	RemoveToken = row[None, TokenList](http.MethodDelete, "removeToken", "/v1/tokens/{token}", Admin, "Ends a token, by id or name, and those that were made with it.", nil)
	ReadAudit   = get[CallList]("readAudit", "/v1/audit", Admin, "What was changed and what was refused, the oldest first; for root of all users.",
		text("since", "Not before this moment."), text("who", "Of this user, token or certificate."), text("box", "About this box."),
		number("after", "Only later ones than this id."), number("limit", "No more than the latest so many."))
	ListListeners = get[ListenerList]("listListeners", "/v1/listeners", Read, "Where the daemon listens beside its socket, and the fingerprint to pin.")
)

// Long work.
var (
	ListOperations  = get[OperationList]("listOperations", "/v1/operations", Read, "The caller's long work that is under way, and what of it was asked for with Prefer: respond-async and ended within the hour.", paged)
	GetOperation    = get[forkbox.Operation]("getOperation", "/v1/operations/{operation}", Read, "One operation: how far it is, or what it came to.")
	FollowOperation = get[OperationLine]("followOperation", "/v1/operations/{operation}/events", Read, "How an operation goes, a line whenever it stands otherwise, until it is over.", lines)
	CancelOperation = post[None, forkbox.Operation]("cancelOperation", "/v1/operations/{operation}/cancel", Read, "Has an operation end and what it began be put back, and answers when it is over. It takes the scope of the route that began it.")
)

// Races.
var (
	ListRaces   = get[RaceList]("listRaces", "/v1/races", Read, "The caller's races, the newest first.", paged)
	StartRace   = post[forkbox.RaceSpec, forkbox.Race]("startRace", "/v1/races", Boxes, "Starts a race and answers. It runs in the daemon.", also(Exec), made)
	GetRace     = get[forkbox.Race]("getRace", "/v1/races/{race}", Read, "One race; @newest is the newest.")
	RemoveRace  = remove("removeRace", "/v1/races/{race}", Boxes, "Removes a race with its boxes and transcripts.", flag("force", "Also one that runs."))
	FollowRace  = get[RaceLine]("followRace", "/v1/races/{race}/events", Read, "How a race goes, until it has ended.", lines)
	CancelRace  = post[None, forkbox.Race]("cancelRace", "/v1/races/{race}/cancel", Boxes, "Ends a race. What its boxes hold stays.")
	ApplyRace   = post[forkbox.RaceApply, forkbox.RaceLanding]("applyRace", "/v1/races/{race}/apply", Apply, "Lands an approach in reality: the winner, if none is named.", async)
	ReadRaceLog = get[RaceLogLine]("readRaceLog", "/v1/races/{race}/log", Read, "What an approach printed; of none, what the setup printed.", lines,
		text("approach", "Whose."), flag("follow", "Go on until it is done."))
)
