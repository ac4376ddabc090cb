package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/layers"
	"github.com/forkbox/forkbox/internal/ledger"
	"github.com/forkbox/forkbox/internal/provider/native"
	"github.com/forkbox/forkbox/internal/retention"
	"github.com/forkbox/forkbox/internal/secrets"
	"github.com/forkbox/forkbox/internal/server"
)

// newEngine wires ledger, provider and engine, and reconciles them with what
// an earlier daemon left.
func newEngine(ctx context.Context, home string, log *slog.Logger) (server.Engine, io.Closer, error) {
	store, err := layers.OpenWith(home, os.Getenv("FORKBOX_LAYERS"))
	if err != nil {
		return nil, nil, err
	}
	provider, err := native.New(home, store, log)
	if err != nil {
		return nil, nil, err
	}
	book, err := ledger.Open(ctx, filepath.Join(home, "ledger.db"))
	if err != nil {
		return nil, nil, err
	}
	fence, err := openFence(home)
	if err != nil {
		return nil, nil, err
	}
	age, size, err := undoLimits()
	if err != nil {
		return nil, nil, err
	}
	policy, policyErr := retention.ParsePolicy(os.Getenv("FORKBOX_RETENTION"))
	if policyErr != nil {
		log.Error("nothing is removed by itself", "error", policyErr)
	}
	e := engine.New(engine.Config{
		Ledger: book, Provider: provider, Logs: keptLogs{store},
		Secrets: secrets.FilterEnv, Hidden: hiddenPaths, CheckAllow: checkAllow, Log: log,
		Receipts: filepath.Join(home, "receipts"), Bases: store.Base, Fence: fence,
		UndoAge: age, UndoSize: size, Retention: policy, RetentionErr: policyErr,
	})
	if err := e.Reconcile(ctx); err != nil {
		book.Close()
		return nil, nil, err
	}
	e.Tidy()
	go emptyTrash(ctx, store, log)
	return e, engineCloser{e, provider, book}, nil
}

// emptyTrash finishes deletions that a crash interrupted.
func emptyTrash(ctx context.Context, store *layers.Store, log *slog.Logger) {
	if err := store.EmptyTrash(ctx); err != nil && ctx.Err() == nil {
		log.Warn("cannot empty the trash", "error", err)
	}
}

func checkAllow(allow []string, who forkbox.Owner) error {
	return secrets.CheckAllow(allow, who.Home, who.UID)
}

func hiddenPaths(home string) []string {
	var paths []string
	for _, e := range append(secrets.Paths(home), secrets.Runtime(os.Getuid())...) {
		if _, err := os.Lstat(e.Path); err == nil {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// keptLogs keeps the output of execs beside the files of their box.
type keptLogs struct{ store *layers.Store }

func (l keptLogs) Create(box, exec string) (*os.File, error) {
	return os.OpenFile(l.store.Log(box, exec), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

func (l keptLogs) Read(ctx context.Context, box, exec string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
	return execlog.Read(ctx, l.store.Log(box, exec), follow, ended, yield)
}

// Exit is how an exec ended whose end no daemon saw.
func (l keptLogs) Exit(box, exec string) (forkbox.Exit, forkbox.Output, bool) {
	return execlog.End(l.store.Log(box, exec))
}

type engineCloser struct {
	engine   *engine.Engine
	provider io.Closer
	ledger   io.Closer
}

// closeLimit is how long operations in flight get when the daemon ends.
const closeLimit = 5 * time.Second

func (c engineCloser) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	return errors.Join(c.engine.Close(ctx), c.provider.Close(), c.ledger.Close())
}
