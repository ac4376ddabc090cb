package daemon

import (
	"context"
	"path/filepath"

	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/race"
	"github.com/forkbox/forkbox/internal/server"
)

// Reconcile makes the world agree with the ledger: boxes first, and then the
// races that an earlier daemon left, which look for theirs.
func (k *keeper) Reconcile(ctx context.Context) error {
	if err := k.Engine.Reconcile(ctx); err != nil {
		return err
	}
	k.races = race.New(race.Config{
		Boxes: k.Engine, Ledger: k.ledger, Log: k.log,
		Transcripts: race.Transcripts{Dir: filepath.Join(k.home, "races"), Log: k.store.Log, Read: execlog.Read},
	})
	return k.races.Resume(ctx)
}

// Races runs races.
func (k *keeper) Races() server.Races { return k.races }

// Busy says whether the daemon is still needed: one that is not may end.
func (k *keeper) Busy() bool { return k.races.Busy() || k.Engine.Busy() }
