package engine

import (
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/execs"
	"github.com/forkbox/forkbox/internal/engine/files"
	"github.com/forkbox/forkbox/internal/engine/forks"
	"github.com/forkbox/forkbox/internal/engine/gc"
	"github.com/forkbox/forkbox/internal/engine/landing"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/engine/services"
	"github.com/forkbox/forkbox/internal/engine/shelf"
	"github.com/forkbox/forkbox/internal/engine/snapshots"
)

// An engine embeds its managers under these names, so that it has their verbs
// and no other package gets at the managers themselves.
type (
	networkManager   = network.Manager
	limitsManager    = limits.Manager
	basesManager     = bases.Manager
	shelfManager     = shelf.Manager
	boxesManager     = boxes.Manager
	execsManager     = execs.Manager
	filesManager     = files.Manager
	snapshotsManager = snapshots.Manager
	changesManager   = changes.Manager
	landingManager   = landing.Manager
	forksManager     = forks.Manager
	servicesManager  = services.Manager
	gcManager        = gc.Manager
)

// What callers of the verbs have to name.
type (
	CreateSpec  = forks.CreateSpec
	ExecRequest = execs.ExecRequest
	FileRequest = files.FileRequest
	File        = files.File
	UndoSpec    = landing.UndoSpec

	Logs     = core.Logs
	Records  = core.Records
	Networks = network.Networks
	Ports    = network.Ports
	Hears    = network.Hears
	Dial     = network.Dial

	CopySpec   = services.CopySpec
	Copied     = services.Copied
	CopiedPart = services.CopiedPart

	Policies      = limits.Policies
	Committed     = limits.Committed
	UserCommitted = limits.UserCommitted
	Want          = limits.Want
	Verdict       = limits.Verdict
)

// Why [Engine.Land] refuses what [Engine.Apply] would land.
var (
	ErrAltered = landing.ErrAltered
	ErrDrifted = landing.ErrDrifted
)
