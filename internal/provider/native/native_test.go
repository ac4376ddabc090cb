//go:build linux

package native

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/storage/layers"
	"github.com/forkbox/forkbox/providertest"
)

func TestMain(m *testing.M) {
	if os.Args[0] == boxinit.InitName {
		os.Exit(boxinit.Init())
	}
	os.Exit(providertest.Main(m, tools))
}

func TestProvider(t *testing.T) {
	t.Parallel()
	providertest.Run(t, fixture)
}

func BenchmarkProvider(b *testing.B) { providertest.Bench(b, fixture) }

var root = os.Getuid() == 0

func owner() forkbox.Owner {
	home, _ := os.UserHomeDir()
	groups, _ := os.Getgroups()
	return forkbox.Owner{UID: os.Getuid(), GID: os.Getgid(), Groups: groups, Home: home}
}

// openStore makes the provider for a store.
func openStore(home string) (*Provider, error) {
	store, err := layers.Open(home)
	if err != nil {
		return nil, err
	}
	return New(home, store, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
}

// testProvider is one on a store of its own, of which nothing may be left
// when the test is over: promise 6, in every test.
func testProvider(t testing.TB) *Provider {
	t.Helper()
	home := providertest.TempDir(t)
	p, err := openStore(home)
	must(t, err)
	t.Cleanup(func() {
		dropSpare(t, p)
		nothingLeft(t, home)
	})
	return p
}

// dropSpare does at once what the provider does after a while.
func dropSpare(t testing.TB, p *Provider) {
	t.Helper()
	must(t, p.Close())
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	p.spares.closed = false
}

// planFor is the plan of a box with its directories made.
func planFor(t testing.TB, p *Provider, box forkbox.Box) *plan {
	t.Helper()
	plan, err := p.builder.outline(box)
	must(t, err)
	must(t, p.stacks.layers(context.Background(), plan))
	return plan
}

func fixture(t testing.TB) providertest.Fixture {
	t.Helper()
	return fixtureOf(t, testProvider(t))
}

func fixtureOf(t testing.TB, p *Provider) providertest.Fixture {
	return providertest.Fixture{
		Provider:  p,
		Owner:     owner(),
		Traits:    providertest.Traits{TTY: true, Signals: true, Attach: true, OtherUsers: root, Network: true, Changes: true, Streams: true},
		LogFile:   func(box, exec string) *os.File { return logFile(t, p, box, exec) },
		ReadLog:   func(box, exec string) []forkbox.LogRecord { return readLog(t, p, box, exec) },
		Crash:     crasher(p),
		Break:     func(box forkbox.Box) func() { return breakWork(t, p, box) },
		Leftovers: func() []string { return storeFiles(t, p.home) },
	}
}

func lab(t testing.TB) (*Provider, *providertest.Lab) {
	t.Helper()
	p := testProvider(t)
	return p, providertest.NewLab(t, fixtureOf(t, p))
}

func logFile(t testing.TB, p *Provider, box, exec string) *os.File {
	t.Helper()
	f, err := p.store.CreateLog(box, exec)
	if err != nil {
		t.Logf("no log: %v", err) // of a box that is gone; Exec says so
		return nil
	}
	return f
}

func readLog(t testing.TB, p *Provider, box, exec string) (list []forkbox.LogRecord) {
	t.Helper()
	err := execlog.Read(context.Background(), p.store.Log(box, exec), false, nil, func(r forkbox.LogRecord) error {
		list = append(list, r)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return list
}

// breakWork puts a file where the box's work directories should be.
func breakWork(t testing.TB, p *Provider, box forkbox.Box) (mend func()) {
	t.Helper()
	work := p.store.Work(box.ID)
	must(t, os.Rename(work, work+".aside"))
	must(t, os.WriteFile(work, nil, 0o600))
	return func() {
		must(t, os.Remove(work))
		must(t, os.Rename(work+".aside", work))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// storeFiles lists what a store holds besides its own directories.
func storeFiles(t testing.TB, home string) (list []string) {
	t.Helper()
	own := map[string]bool{"": true, "/boxes": true, "/trash": true, "/mnt": true, "/mnt/root": true, "/mnt/veil": true,
		"/layers": true, "/roots": true, "/layout": true, "/spool": true}
	err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		if name := strings.TrimPrefix(path, home); err == nil && !own[name] {
			list = append(list, path)
		}
		return nil // others remove their boxes while we look
	})
	must(t, err)
	return list
}
