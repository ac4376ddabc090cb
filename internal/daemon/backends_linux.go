package daemon

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger"
	"github.com/forkbox/forkbox/internal/provider/native"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// provider is what the daemon needs of one that isolates boxes. What it can do
// beyond that (reserver, truster, sparer, and what the engine asks for) it says by
// its methods.
type provider interface {
	forkbox.Provider
	Close() error
}

// reserver is a provider that can limit all boxes together.
type reserver interface {
	Reserve(all forkbox.Limits) error
}

// truster is a provider that has programs in a box trust a certificate: by files,
// whose contents are told by path.
type truster interface {
	Trust(files func(ca string) map[string][]byte)
}

// prober is a provider that can try whether a box would start now.
type prober interface {
	Probe(ctx context.Context) error
}

// sparer is a provider that keeps boxes ready, which hold the store open.
type sparer interface{ DropSpares() }

// backends has those that a daemon can be told to use, by their words in the
// configuration: the only place that knows which ones there are.
type backends struct {
	ledgers   map[string]func(ctx context.Context, home string) (forkbox.Ledger, error)
	providers map[string]func(home string, store *layers.Store, log *slog.Logger) (provider, error)
}

func allBackends() backends {
	return backends{
		ledgers:   map[string]func(context.Context, string) (forkbox.Ledger, error){"sqlite": openSQLite},
		providers: map[string]func(string, *layers.Store, *slog.Logger) (provider, error){native.Name: newNative},
	}
}

func openSQLite(ctx context.Context, home string) (forkbox.Ledger, error) {
	l, err := ledger.Open(ctx, filepath.Join(home, "ledger.db"))
	if err != nil {
		return nil, err
	}
	return l, nil
}

func newNative(home string, store *layers.Store, log *slog.Logger) (provider, error) {
	p, err := native.New(home, store, log)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// choose finds one by its word.
func choose[F any](kind string, from map[string]F, word string) (F, error) {
	make, known := from[word]
	if known {
		return make, nil
	}
	words := slices.Sorted(maps.Keys(from))
	return make, forkbox.Errorf(forkbox.Unsupported, "use the "+kind+" "+word, "this forkbox has none of that name").
		Hint("it has: %s", strings.Join(words, ", "))
}
