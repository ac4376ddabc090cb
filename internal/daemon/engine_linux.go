package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/secrets"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// newEngine wires ledger, provider and engine, and reconciles them with what
// an earlier daemon left.
func newEngine(ctx context.Context, home string, settings config.Settings, log *slog.Logger) (_ runningEngine, err error) {
	limits := newPolicies(settings.Policy, home)
	k := newKeeper(home, settings, limits)
	defer func() {
		if err != nil {
			k.Close()
		}
	}()
	if err := k.open(ctx, log); err != nil {
		return nil, err
	}
	if k.pool != nil {
		limits.pool = k.pool.Dir()
	}
	limits.reserve(k.provider, log)
	if err := k.openNetworks(settings.Policy.Network, log); err != nil {
		return nil, err
	}
	if err := k.openLedger(ctx); err != nil {
		return nil, err
	}
	fence, err := openFence(home)
	if err != nil {
		return nil, err
	}
	if settings.Retention.Err != nil {
		log.Error("nothing is removed by itself", "error", settings.Retention.Err)
	}
	c := engineConfig(settings)
	c.Ledger, c.Records, c.Provider, c.Logs, c.Log = k.records, k.records.Kept, k.provider, keptLogs{k.store}, log
	c.Secrets, c.Places, c.Hidden, c.CheckAllow = secrets.FilterEnv, secrets.Places, hiddenPaths, checkAllow
	c.Receipts, c.Bases, c.Fence = filepath.Join(home, "receipts"), k.store.Base, fence
	c.Networks, c.Ports, c.Services = k.networks, k.ports, machine{home}
	c.Policies, c.Clock, c.Reserve = limits, bootClock(), limits.short
	c.Series = func(box string) string { return filepath.Join(k.store.Dir(box), "stats") }
	k.observe()
	c.Measure = k.metrics.Operation
	k.Engine = engine.New(c)
	if err := k.Reconcile(ctx); err != nil {
		return nil, err
	}
	k.Tidy()
	k.records.CatchUp()
	go emptyTrash(ctx, k.store, log)
	return k, nil
}

// engineConfig is what the configuration says to the engine.
func engineConfig(s config.Settings) engine.Config {
	return engine.Config{
		UndoAge: s.Undo.Age, UndoSize: s.Undo.Size, Retention: s.Retention.Policy, RetentionErr: s.Retention.Err,
	}
}

// Reconfigure has what can change while boxes run hold from now on.
func (k *keeper) Reconfigure(s config.Settings) {
	k.limits.set(s.Policy)
	k.limits.reserve(k.provider, k.log)
	k.networks.Reconfigure(k.terms(s.Policy.Network))
	k.SetUndo(s.Undo.Age, s.Undo.Size)
	k.SetRetention(s.Retention.Policy, s.Retention.Err)
}

// Unmeasured are the pressures that admission counts on and this kernel does
// not measure.
func (k *keeper) Unmeasured() []string { return k.limits.unmeasured() }

// emptyTrash finishes deletions that a crash interrupted.
func emptyTrash(ctx context.Context, store *layers.Store, log *slog.Logger) {
	if err := store.EmptyTrash(ctx); err != nil && ctx.Err() == nil {
		log.Warn("cannot empty the trash", "error", err)
	}
}

func checkAllow(allow []string, who forkbox.Owner, places []string) error {
	if len(allow) == 0 {
		return nil // as a rule: a home need not be looked through for that
	}
	return secrets.CheckAllow(allow, who.Home, who.UID, places)
}

func hiddenPaths(home string) []string {
	var paths []string
	for _, e := range slices.Concat(secrets.Paths(home), secrets.Runtime(os.Getuid()), secrets.Lying()) {
		if _, err := os.Lstat(e.Path); err == nil && !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// keptLogs keeps the output of execs beside the files of their box.
type keptLogs struct{ store *layers.Store }

func (l keptLogs) Create(box, exec string) (*os.File, error) {
	return l.store.CreateLog(box, exec)
}

func (l keptLogs) Read(ctx context.Context, box, exec string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
	return execlog.Read(ctx, l.store.Log(box, exec), follow, ended, yield)
}

// Exit is how an exec ended whose end no daemon saw.
func (l keptLogs) Exit(box, exec string) (forkbox.Exit, forkbox.Output, bool) {
	return execlog.End(l.store.Log(box, exec))
}

// Tail is the end of what an exec wrote, nothing where that was not kept.
func (l keptLogs) Tail(box, exec string, size int64) []byte {
	tail, _ := execlog.Tail(l.store.Log(box, exec), size)
	return tail
}

// execs are the numbers of those of a box that have a log.
func (l keptLogs) execs(box string) (all []int, err error) {
	entries, err := os.ReadDir(l.store.Dir(box))
	for _, e := range entries {
		name, isLog := strings.CutSuffix(e.Name(), ".log")
		if n, err := strconv.Atoi(name); isLog && err == nil {
			all = append(all, n)
		}
	}
	return all, err
}

// Kept is the number of the last exec of a box that has a log, and when one was
// last written to.
func (l keptLogs) Kept(box string) (last int, written func(exec int) time.Time) {
	execs, _ := l.execs(box) // a box without a directory has none
	for _, n := range execs {
		last = max(last, n)
	}
	return last, func(exec int) time.Time {
		info, err := os.Lstat(l.store.Log(box, strconv.Itoa(exec)))
		if err != nil {
			return time.Now()
		}
		return info.ModTime()
	}
}

// Trim cuts off what is more than a log can well be, with a head for each of its
// records.
func (l keptLogs) Trim(box string, limit int64) (cut int, err error) {
	const heads, slack = 4, 1 << 20
	execs, err := l.execs(box)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for _, n := range execs {
		path := l.store.Log(box, strconv.Itoa(n))
		if info, serr := os.Lstat(path); serr == nil && info.Size() > heads*limit+slack {
			cut++
			err = errors.Join(err, os.Truncate(path, limit))
		}
	}
	return cut, err
}
