package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/metrics"
	"github.com/forkbox/forkbox/internal/network"
	"github.com/forkbox/forkbox/internal/network/ingress"
	"github.com/forkbox/forkbox/internal/network/vault"
	"github.com/forkbox/forkbox/internal/race"
	"github.com/forkbox/forkbox/internal/server"
	"github.com/forkbox/forkbox/internal/storage/layers"
	"github.com/forkbox/forkbox/internal/storage/pool"
	"github.com/forkbox/forkbox/internal/storage/records"
)

// keeper is the engine with what it keeps boxes in.
type keeper struct {
	*engine.Engine
	home     string
	log      *slog.Logger
	pool     *pool.Pool // nil where there is none
	store    *layers.Store
	provider provider
	ledger   forkbox.Ledger
	records  *records.Keeper
	vault    *vault.Vault
	races    *race.Races
	networks *network.House
	found    func() []forkbox.NetRule // what this machine's tools use
	limits   *policies
	settings config.Settings
	backends backends
	ports    *ingress.Ingress
	metrics  *metrics.Metrics
	probed   *probed
}

func newKeeper(home string, s config.Settings, limits *policies) *keeper {
	return &keeper{home: home, limits: limits, settings: s, backends: allBackends(), probed: &probed{}}
}

// open opens the store: in its pool, where it has one.
func (k *keeper) open(ctx context.Context, log *slog.Logger) (err error) {
	k.log = log
	if k.pool, err = pool.Open(ctx, k.home); err != nil {
		return err
	}
	dir := k.home
	if k.pool != nil {
		dir = k.pool.Dir()
	}
	if k.store, err = layers.OpenIn(dir, k.home, k.settings.Store.Layers); err != nil {
		return err
	}
	newProvider, err := choose("provider", k.backends.providers, k.settings.Serve.Provider)
	if err != nil {
		return err
	}
	k.provider, err = newProvider(k.home, k.store, log)
	return err
}

// openLedger opens the ledger, and what the store keeps beside it for the day
// that it is lost.
func (k *keeper) openLedger(ctx context.Context) (err error) {
	open, err := choose("ledger", k.backends.ledgers, k.settings.Store.Ledger)
	if err != nil {
		return err
	}
	if k.ledger, err = open(ctx, k.home); err != nil {
		return err
	}
	hasTop := func(box string) bool {
		_, err := os.Lstat(k.store.Top(box))
		return err == nil
	}
	k.records, err = records.Keep(k.ledger, k.store.Records(), hasTop, k.log)
	return err
}

// Vault keeps secrets.
func (k *keeper) Vault() server.Vault {
	if k.vault == nil {
		return nil
	}
	return tellingVault{k.vault, k.Tell}
}

// AccessLedger is where tokens and the audit trail are kept.
func (k *keeper) AccessLedger() forkbox.AccessLedger { return k.ledger }

// closeLimit is how long operations in flight get when the daemon ends.
const closeLimit = 5 * time.Second

// Close ends what the daemon has open. Boxes go on running, and keep the pool
// mounted.
func (k *keeper) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var errs []error
	if k.races != nil {
		errs = append(errs, k.races.Close(ctx))
	}
	if k.Engine != nil {
		errs = append(errs, k.Engine.Close(ctx))
	}
	if k.ports != nil {
		k.ports.Shutdown()
	}
	if k.provider != nil {
		errs = append(errs, k.provider.Close())
	}
	if k.records != nil {
		k.records.End()
	}
	if k.ledger != nil {
		errs = append(errs, k.ledger.Close())
	}
	if k.pool != nil {
		if err := k.pool.Close(ctx); forkbox.CodeOf(err) != forkbox.Busy {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// StoreStatus is where boxes are kept, and how much room there is.
func (k *keeper) StoreStatus(context.Context) (api.Store, error) {
	s := api.Store{Dir: k.home}
	s.Driver, _ = k.store.Driver()
	s.Disk, s.Inodes = k.store.Quota()
	var err error
	if s.HostFree, _, _, err = k.store.HostFree(); err != nil || k.pool == nil {
		return s, err
	}
	p, err := k.pool.Status()
	s.Dir = k.pool.Dir()
	s.Pool = &api.Pool{File: pool.File(k.home), Size: p.Size, Used: p.Used, Free: p.Free, Allocated: p.Allocated, Simple: p.Simple}
	return s, err
}

// StoreInit makes a pool. The next daemon keeps boxes in it: this one ends when
// it has answered.
func (k *keeper) StoreInit(ctx context.Context, size int64) (api.Store, error) {
	if err := k.noBoxes(ctx, "make the pool"); err != nil {
		return api.Store{}, err
	}
	k.dropSpares()
	if err := pool.Init(ctx, k.home, size); err != nil {
		return api.Store{}, err
	}
	made, err := pool.Open(ctx, k.home)
	if err != nil {
		return api.Store{}, err
	}
	k.tellStore("a pool of " + forkbox.FormatSize(size) + " was made")
	retire()
	next := *k
	next.pool = made
	if next.store, err = layers.OpenIn(made.Dir(), k.home, k.settings.Store.Layers); err != nil {
		return api.Store{}, errors.Join(err, made.Close(ctx))
	}
	s, err := next.StoreStatus(ctx)
	return s, errors.Join(err, made.Close(ctx))
}

// StoreGrow makes the pool larger, while boxes run.
func (k *keeper) StoreGrow(ctx context.Context, size int64) (api.Store, error) {
	if k.pool == nil {
		return api.Store{}, noPool("grow the pool")
	}
	if err := k.pool.Grow(ctx, size); err != nil {
		return api.Store{}, err
	}
	k.tellStore("the pool was grown to " + forkbox.FormatSize(size))
	return k.StoreStatus(ctx)
}

// StoreRemove removes the pool; the next daemon keeps boxes beside it again.
func (k *keeper) StoreRemove(ctx context.Context) error {
	if k.pool == nil {
		return nil
	}
	if err := k.noBoxes(ctx, "remove the pool"); err != nil {
		return err
	}
	k.dropSpares()
	if err := pool.Remove(ctx, k.home); err != nil {
		return err
	}
	k.pool = nil
	k.tellStore("the pool was removed")
	retire()
	return nil
}

// dropSpares ends the boxes that are kept ready, before the store goes elsewhere.
func (k *keeper) dropSpares() {
	if p, ok := k.provider.(sparer); ok {
		p.DropSpares()
	}
}

// noBoxes refuses by name what the pool, which knows only their ids, would refuse
// as well.
func (k *keeper) noBoxes(ctx context.Context, op string) error {
	boxes, err := k.ledger.Boxes(ctx, nil)
	if err != nil || len(boxes) == 0 {
		return err
	}
	const few = 3
	var names []string
	for _, box := range boxes[:min(few, len(boxes))] {
		names = append(names, box.Name)
	}
	if len(boxes) > few {
		names = append(names, "…")
	}
	return forkbox.Errorf(forkbox.Busy, op, "the store has boxes: %s", strings.Join(names, ", ")).
		Hint("forkbox ls lists them, forkbox rm removes them; or use another directory (FORKBOX_HOME)")
}

func noPool(op string) error {
	return forkbox.Errorf(forkbox.NotFound, op, "there is none").Hint("make one: forkbox store init --size 50g")
}

// retire ends this daemon, as a signal from outside would, when it has
// answered. Who comes from now on finds no socket, and starts the next one.
func retire() {
	_ = os.Remove(client.DefaultSocket())
	time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) })
}
