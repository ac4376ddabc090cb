//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/forkbox/forkbox/api"
)

// TestReadinessOfEachPart breaks what a daemon needs, one part after the other: it
// says which and why, is ready again when that is mended, and alive all the time.
func TestReadinessOfEachPart(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	w.readiness("", "")
	move := func(name string) (back func()) {
		path := filepath.Join(w.home, name)
		w.ok(os.Rename(path, path+".away"))
		return func() { w.ok(os.Rename(path+".away", path)) }
	}
	for _, c := range []struct {
		part, why string
		spoil     func() (mend func())
	}{
		{"store", filepath.Join(w.home, "boxes"), func() func() { return move("boxes") }},
		{"provider", "veil", func() func() { // nothing can be mounted where a file is
			back, file := move("mnt"), filepath.Join(w.home, "mnt")
			w.ok(os.WriteFile(file, nil, 0o600))
			return func() { w.ok(os.Remove(file)); back() }
		}},
		{"ledger", "locked", w.lockLedger},
		{"reserve", "keeps", w.keepAllDisk},
	} {
		mend := c.spoil()
		w.readiness(c.part, c.why)
		mend()
		w.readiness("", "")
	}
}

// readiness waits until one part, or none, is not ok, and finds the reason.
func (w *limitWorld) readiness(part, why string) {
	w.Helper()
	w.until("of its parts this one fails: "+part, func() bool {
		ready, status := w.health("/readyz")
		if _, alive := w.health("/healthz"); alive != http.StatusOK || ready.OK != (status == http.StatusOK) {
			w.Fatalf("healthz is %d, readyz %d %+v", alive, status, ready)
		}
		for _, p := range ready.Parts {
			if p.OK == (p.Name == part) || !p.OK && !strings.Contains(p.Why, why) {
				return false
			}
		}
		return len(ready.Parts) == 4 && ready.OK == (part == "")
	})
}

func (w *served) health(path string) (h api.Health, status int) {
	w.Helper()
	resp, err := w.web().Get("http://forkbox" + path)
	w.ok(err)
	defer resp.Body.Close()
	w.ok(json.NewDecoder(resp.Body).Decode(&h))
	return h, resp.StatusCode
}

// web speaks HTTP to the daemon, each request on a connection of its own.
func (w *served) web() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(w.home, "forkbox.sock"))
	}}}
}

// lockLedger has another program hold the ledger.
func (w *limitWorld) lockLedger() (mend func()) {
	db, err := sql.Open("sqlite", filepath.Join(w.home, "ledger.db"))
	w.ok(err)
	db.SetMaxOpenConns(1)
	w.until("the ledger is not being written", func() bool {
		_, err = db.ExecContext(w.Context(), "BEGIN IMMEDIATE")
		return err == nil
	})
	return func() {
		_, err := db.ExecContext(w.Context(), "ROLLBACK")
		w.ok(err)
		w.ok(db.Close())
	}
}

// keepAllDisk has the host keep all of its disk for itself.
func (w *limitWorld) keepAllDisk() (mend func()) {
	reload := func(config string) {
		w.ok(os.WriteFile(w.file("config.yaml"), []byte(config), 0o644))
		w.ok(w.daemon.Process.Signal(syscall.SIGHUP))
	}
	reload(calm + "reserve: {disk: 900t}\n")
	return func() { reload(calm) }
}
