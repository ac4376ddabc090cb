package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network"
	"github.com/forkbox/forkbox/internal/network/gate"
	"github.com/forkbox/forkbox/internal/network/ingress"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/forkbox/forkbox/internal/network/toolhosts"
	"github.com/forkbox/forkbox/internal/network/vault"
	"github.com/forkbox/forkbox/internal/policy"
)

// openNetworks makes what boxes reach the world through, and are reached by.
func (k *keeper) openNetworks(config policy.Network, log *slog.Logger) (err error) {
	if k.vault, err = vault.Open(filepath.Join(k.home, "secrets")); err != nil {
		return err
	}
	own, err := remembered(addressesAge, network.OwnAddresses)
	if err != nil {
		return forkbox.Wrap("find the host's own addresses", err)
	}
	k.found, err = remembered(registriesAge, ownRegistries)
	if err != nil {
		return forkbox.Wrap("find what this machine's tools use", err)
	}
	if p, ok := k.provider.(truster); ok {
		p.Trust(network.Trust)
	}
	k.networks = network.New(network.Config{
		Dir: filepath.Join(k.home, "ca"), Vault: k.vault,
		Terms:    k.terms(config),
		Own:      own,
		Resolver: resolver(config),
		Log:      log,
	})
	k.ports = ingress.New(ingressConfig(config, log))
	return nil
}

func resolver(config policy.Network) *gate.Resolver {
	return gate.NewResolver(gate.ResolverConfig{Servers: config.DNS})
}

func ingressConfig(config policy.Network, log *slog.Logger) ingress.Config {
	return ingress.Config{URLs: config.URLs, UID: os.Getuid(), Log: log}
}

// terms are those that the configuration sets.
func (k *keeper) terms(config policy.Network) network.Terms {
	return network.Terms{
		Default: config.Default, Floor: config.Floor,
		Host: rules.Host{Preset: config.Preset, Project: config.Project, Find: k.found},
	}
}

// ownRegistries is what the whole machine's tools are configured to use. What
// a user's are is for their command line to find: it knows their environment.
func ownRegistries() ([]forkbox.NetRule, error) {
	return toolhosts.Find(toolhosts.Options{Root: "/"}), nil
}

// registriesAge is how long they are remembered: to look takes longer than all
// else that has to be found out for a box, and a race makes many boxes.
const registriesAge = 2 * time.Second

// addressesAge is how long the host's own addresses are remembered. They are
// asked for with every connection, and seldom change.
const addressesAge = 2 * time.Second

// remembered asks now and then. Where it cannot, for want of open files say, the
// last answer goes on to count: to take the host's own addresses for others'
// would open it to boxes.
func remembered[T any](age time.Duration, ask func() ([]T, error)) (func() []T, error) {
	last, err := ask()
	at := time.Now()
	var mu sync.Mutex
	return func() []T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) > age {
			if now, err := ask(); err == nil {
				last, at = now, time.Now()
			}
		}
		return slices.Clone(last)
	}, err
}
