package daemon

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// TestBackendsAreThoseOfTheConfiguration: what the configuration takes can be made,
// and what can be made the configuration takes.
func TestBackendsAreThoseOfTheConfiguration(t *testing.T) {
	all := allBackends()
	for _, key := range config.Keys() {
		var has []string
		switch key.Name {
		case "store.ledger":
			has = slices.Sorted(maps.Keys(all.ledgers))
		case "serve.provider":
			has = slices.Sorted(maps.Keys(all.providers))
		default:
			continue
		}
		words := slices.Sorted(slices.Values(wordsOf(key)))
		if !slices.Equal(words, has) {
			t.Errorf("%s is one of %q, and the daemon has %q", key.Name, words, has)
		}
	}
}

// wordsOf are those that a key takes, if it takes only some.
func wordsOf(k *config.Key) []string {
	words, _ := k.Kind.Schema["enum"].([]string)
	return words
}

func keyOf(name string) *config.Key {
	all := config.Keys()
	return all[slices.IndexFunc(all, func(k *config.Key) bool { return k.Name == name })]
}

// lastWord is one that is not what holds anyway, as soon as there are two.
func lastWord(key string) string {
	words := wordsOf(keyOf(key))
	return words[len(words)-1]
}

// refusing are backends of which each says its name.
func refusing() backends {
	failed := func(word string) error { return forkbox.Errorf(forkbox.Internal, "open", "%s was chosen", word) }
	b := backends{
		ledgers:   map[string]func(context.Context, string) (forkbox.Ledger, error){},
		providers: map[string]func(string, *layers.Store, *slog.Logger) (provider, error){},
	}
	for _, word := range slices.Concat([]string{"second"}, wordsOf(keyOf("store.ledger")), wordsOf(keyOf("serve.provider"))) {
		b.ledgers[word] = func(context.Context, string) (forkbox.Ledger, error) { return nil, failed(word) }
		b.providers[word] = func(string, *layers.Store, *slog.Logger) (provider, error) { return nil, failed(word) }
	}
	return b
}

// ledgerOf and providerOf say which one the daemon opens.
func ledgerOf(t *testing.T, s config.Settings) string {
	k := newKeeper(t.TempDir(), s, nil)
	k.backends = refusing()
	return k.openLedger(t.Context()).Error()
}

func providerOf(t *testing.T, s config.Settings) string {
	k := newKeeper(t.TempDir(), s, nil)
	k.backends = refusing()
	return k.open(t.Context(), slog.New(slog.DiscardHandler)).Error()
}

func TestConfigurationChoosesBackends(t *testing.T) {
	for word, want := range map[string]string{
		"":       "cannot open: sqlite was chosen; cannot open: native was chosen",
		"second": "cannot open: second was chosen; cannot open: second was chosen",
		"third":  "cannot use the ledger third: this forkbox has none of that name; cannot use the provider third: this forkbox has none of that name",
	} {
		s := config.Builtin()
		if word != "" {
			s.Store.Ledger, s.Serve.Provider = word, word
		}
		if got := ledgerOf(t, s) + "; " + providerOf(t, s); got != want {
			t.Errorf("with %q: %s", word, got)
		}
	}
}
