package server

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// Engine is what the server needs of the verbs. who is always the peer of the
// connection, never something that the request said.
type Engine interface {
	Files
	Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (forkbox.Box, error)
	Boxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error)
	Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Start(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Stop(ctx context.Context, who forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error)
	Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error
	ListServices(ctx context.Context, who forkbox.Owner) ([]forkbox.Service, []string, error)
	Refresh(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) ([]forkbox.Still, error)
	ControlService(ctx context.Context, who forkbox.Owner, ref, name, do string) (forkbox.Box, error)

	Exec(ctx context.Context, who forkbox.Owner, ref string, req engine.ExecRequest, stdio forkbox.Stdio) (forkbox.Exec, error)
	Wait(ctx context.Context, who forkbox.Owner, ref, execID string) (forkbox.Exec, error)
	GetExec(ctx context.Context, who forkbox.Owner, ref, execID string) (forkbox.Exec, error)
	Execs(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Exec, error)
	// Abandon ends an exec whose caller is gone.
	Abandon(ctx context.Context, who forkbox.Owner, ref, execID string) error
	Signal(ctx context.Context, who forkbox.Owner, ref, execID string, signal int) error
	Kill(ctx context.Context, who forkbox.Owner, ref, execID string, grace time.Duration) error
	Resize(ctx context.Context, who forkbox.Owner, ref, execID string, size forkbox.Size) error
	Logs(ctx context.Context, who forkbox.Owner, ref, execID string, follow bool, yield func(forkbox.LogRecord) error) error

	Processes(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Process, error)
	Diff(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.DiffSpec, yield func(forkbox.Change) error) (forkbox.Summary, error)
	Status(ctx context.Context, who forkbox.Owner, ref string) (forkbox.BoxStatus, error)
	Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error)
	Discard(ctx context.Context, who forkbox.Owner, ref string, sel forkbox.Selection) ([]string, error)
	Sync(ctx context.Context, who forkbox.Owner, ref string) (forkbox.SyncResult, error)
	Receipts(ctx context.Context, who forkbox.Owner) ([]forkbox.Receipt, error)
	Receipt(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Receipt, error)
	Undo(ctx context.Context, who forkbox.Owner, ref string, spec engine.UndoSpec) (forkbox.Receipt, error)

	Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (forkbox.Snapshot, error)
	Snapshots(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Snapshot, error)
	Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (forkbox.Rollback, error)
	ForkWith(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ForkSpec, wish forkbox.Wish, net forkbox.NetWish) (forkbox.Fork, error)
	RemoveSnapshot(ctx context.Context, who forkbox.Owner, ref string, squash bool) error
	Family(ctx context.Context, who forkbox.Owner) (forkbox.Family, error)

	CreateTemplate(ctx context.Context, who forkbox.Owner, spec forkbox.TemplateSpec) (forkbox.Template, error)
	Templates(ctx context.Context, who forkbox.Owner) ([]forkbox.Template, error)
	RemoveTemplate(ctx context.Context, who forkbox.Owner, name string) error
	WarmTemplate(ctx context.Context, who forkbox.Owner, name string, n int) (forkbox.Template, error)

	// Export writes nothing before it knows that it can.
	Export(ctx context.Context, who forkbox.Owner, ref string, w io.Writer) error
	ImportWith(ctx context.Context, who forkbox.Owner, r io.Reader, spec forkbox.ImportSpec, wish forkbox.Wish, net forkbox.NetWish) (forkbox.Import, error)
	AddBase(ctx context.Context, who forkbox.Owner, kind, name string, r io.Reader) (forkbox.Base, error)

	Keep(ctx context.Context, who forkbox.Owner, ref string, keep bool) (forkbox.Box, error)
	GC(ctx context.Context, who forkbox.Owner, spec forkbox.GCSpec) (forkbox.GC, error)
	Usage(ctx context.Context, who forkbox.Owner) (forkbox.Usage, error)

	// Create, Exec, Start and Fork wait where the host is full, until ctx ends.
	Set(ctx context.Context, who forkbox.Owner, ref string, wish forkbox.Wish) (forkbox.Box, error)
	Extend(ctx context.Context, who forkbox.Owner, ref string, by time.Duration) (forkbox.Box, error)
	Pause(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Resume(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Policy(ctx context.Context, who forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error)
	Holds(ctx context.Context) map[forkbox.Resource]forkbox.Holding
	Stats(ctx context.Context, who forkbox.Owner, ref string, series bool) (forkbox.BoxStats, error)
	AllStats(ctx context.Context, who forkbox.Owner) ([]forkbox.BoxStats, error)
	Events(ctx context.Context, who forkbox.Owner, spec engine.EventSpec, yield func(forkbox.Event) error) error
	Queue(ctx context.Context, who forkbox.Owner) ([]forkbox.Waiting, error)
	// Attach returns when the exec is attached. It owns stdio, also when it
	// fails.
	Attach(ctx context.Context, who forkbox.Owner, ref, execID string, stdio forkbox.Stdio) error
	// Stream owns link, also when it fails.
	Stream(ctx context.Context, who forkbox.Owner, ref, execID string, join forkbox.StreamJoin, link *os.File) (forkbox.StreamAt, error)
	Suspend(ctx context.Context, who forkbox.Owner, ref, execID string) (stopped bool, err error)

	Network(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Net, forkbox.Network, error)
	// Allow puts rules in front of a box's own, or takes some of those away: all
	// that are named, or none. Each is "allow X" or "deny X"; X alone is enough
	// to take it away.
	Allow(ctx context.Context, who forkbox.Owner, ref string, rules []string, remove bool) (forkbox.Box, error)
	Explain(ctx context.Context, who forkbox.Owner, ref, target string) (forkbox.NetVerdict, error)
	// ConnLog with a limit has the latest so many. ref may be the id of a box
	// that is gone.
	ConnLog(ctx context.Context, who forkbox.Owner, ref string, after int64, limit int, follow bool, yield func(forkbox.Conn) error) error
	Publish(ctx context.Context, who forkbox.Owner, ref string, port forkbox.Port) (forkbox.Port, error)
	// Unpublish without a port of the host is about all that this one of the
	// box's is published as.
	Unpublish(ctx context.Context, who forkbox.Owner, ref string, port forkbox.Port) error
	PortsOf(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Port, error)
	URL(ctx context.Context, who forkbox.Owner, ref string, port int) (string, error)
	// WaitPort with a zero timeout waits for as long as the engine finds right.
	WaitPort(ctx context.Context, who forkbox.Owner, ref string, port int, timeout time.Duration) error

	Doctor(ctx context.Context) []forkbox.Check
	HiddenFrom(who forkbox.Owner) []string
	// Deviations is what differs in a box from this host.
	Deviations() []forkbox.Deviation
	// CheckMounts names boxes that hold what the host has unmounted.
	CheckMounts(ctx context.Context, who forkbox.Owner) []forkbox.Check
	// Strays are what applies left in reality that no receipt accounts for, as
	// far as it can be found from dir. MendStray does away with one.
	Strays(ctx context.Context, who forkbox.Owner, dir string) ([]forkbox.Stray, error)
	MendStray(ctx context.Context, who forkbox.Owner, dir string, fate forkbox.StrayFate) (forkbox.StrayMended, error)

	// Busy says that something runs, so that the daemon must not end.
	Busy() bool
}

var _ Engine = (*engine.Engine)(nil)
