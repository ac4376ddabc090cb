package server

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// Engine is what the server needs of the verbs. who is always the peer of the
// connection, never something that the request said.
type Engine interface {
	Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (forkbox.Box, error)
	Boxes(ctx context.Context, who forkbox.Owner) ([]forkbox.Box, error)
	Box(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Start(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error)
	Stop(ctx context.Context, who forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error)
	Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error

	Exec(ctx context.Context, who forkbox.Owner, ref string, req engine.ExecRequest, stdio forkbox.Stdio) (forkbox.Exec, error)
	Wait(ctx context.Context, who forkbox.Owner, ref, execID string) (forkbox.Exec, error)
	GetExec(ctx context.Context, who forkbox.Owner, ref, execID string) (forkbox.Exec, error)
	Execs(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Exec, error)
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
	Doctor(ctx context.Context) []forkbox.Check
	HiddenFrom(who forkbox.Owner) []string

	// Busy says that something runs, so that the daemon must not end.
	Busy() bool
}

var _ Engine = (*engine.Engine)(nil)
