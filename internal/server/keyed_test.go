package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/ledger"
	"github.com/forkbox/forkbox/internal/replay"
)

func openLedger(t *testing.T, path string) *ledger.SQLite {
	t.Helper()
	l, err := ledger.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func keeping(l forkbox.AccessLedger) func(*Server) {
	return func(s *Server) { s.Keys = replay.NewKeeper(l, slog.New(slog.DiscardHandler)) }
}

func withKeys(t *testing.T) func(*Server) {
	t.Helper()
	return keeping(openLedger(t, filepath.Join(t.TempDir(), "ledger.db")))
}

const aKey = "Idempotency-Key: 5f0c6ac4-8a5e-4f0e-9a59-3d1c1d7d2a10"

// answered makes a request and says how it was answered, and whether that was an
// answer from before.
func (r *reached) answered(t *testing.T, method, path, token, body string, headers ...string) (status int, text string, again bool) {
	t.Helper()
	resp, text := r.ask(t, method, path, token, body, headers...)
	return resp.StatusCode, text, resp.Header.Get(api.ReplayedHeader) == "true"
}

func TestARepeatIsAnsweredAsTheFirst(t *testing.T) {
	set, _ := withTrail(t)
	r := startOutside(t, withKeys(t), set)
	token, other := r.token(t, "boxes"), r.token(t, "boxes")
	const body = `{"name":"try"}`
	status, first, again := r.answered(t, "POST", "/v1/boxes", token, body, aKey)
	if status != 201 || again {
		t.Fatalf("%d %s", status, first)
	}
	for range 2 {
		if status, text, again := r.answered(t, "POST", "/v1/boxes", token, body, aKey); status != 201 || text != first || !again {
			t.Errorf("a repeat: %d %v %s", status, again, text)
		}
	}
	if len(r.engine.created) != 1 {
		t.Errorf("%d boxes were made", len(r.engine.created))
	}
	for what, c := range map[string][2]string{
		"another body":  {"/v1/boxes", `{"name":"tri"}`},
		"another route": {"/v1/templates", body},
		"another box":   {"/v1/boxes/b1/fork", body},
		"another query": {"/v1/boxes/b1/fork?snapshot=x", body},
	} {
		status, text, again := r.answered(t, "POST", c[0], token, c[1], aKey)
		if status != 400 || again || !strings.Contains(text, "another request's") || !strings.Contains(text, "take a new one") {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	for what, c := range map[string][2]string{"another caller": {other, aKey}, "another key": {token, "Idempotency-Key: x"}} {
		if status, _, again := r.answered(t, "POST", "/v1/boxes", c[0], body, c[1]); status != 201 || again {
			t.Errorf("%s: %d %v", what, status, again)
		}
	}
	if len(r.engine.created) != 3 {
		t.Errorf("%d boxes were made", len(r.engine.created))
	}
	_, audit := r.ask(t, "GET", "/v1/audit", r.token(t, "admin"), "")
	if strings.Count(audit, "answered again") != 2 {
		t.Errorf("the trail does not tell repeats: %s", audit)
	}
}

func TestTwentyAtOnceMakeOneBox(t *testing.T) {
	r := startOutside(t, withKeys(t))
	token := r.token(t, "boxes")
	making, goOn := make(chan struct{}), make(chan struct{})
	r.engine.onCreated = func() { close(making); <-goOn } // a second one would panic
	var all sync.WaitGroup
	texts := make([]string, 20)
	for i := range texts {
		all.Go(func() {
			var status int
			if status, texts[i], _ = r.answered(t, "POST", "/v1/boxes", token, `{"name":"try"}`, aKey); status != 201 {
				t.Errorf("%d %s", status, texts[i])
			}
		})
	}
	<-making
	close(goOn)
	all.Wait()
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("%s and %s", text, texts[0])
		}
	}
}

// TestAnAnswerOutlivesTheDaemon: also of one that is a token, of which the ledger
// has nothing that can be read.
func TestAnAnswerOutlivesTheDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	records := openLedger(t, path)
	r := startOutside(t, keeping(records))
	token := r.token(t, "admin", "boxes")
	const body = `{"name":"ci","scopes":["boxes"]}`
	status, first, _ := r.answered(t, "POST", "/v1/tokens", token, body, aKey)
	if status != 201 || !strings.Contains(first, `"token":"fbx_`) {
		t.Fatalf("%d %s", status, first)
	}
	secret := first[strings.Index(first, "fbx_"):][:len("fbx_")+12+1+52]
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, hidden := range []string{secret, secret[17:], strings.TrimPrefix(aKey, "Idempotency-Key: ")} {
			if bytes.Contains(text, []byte(hidden)) {
				t.Errorf("%s has %q", file, hidden)
			}
		}
	}
	keeping(openLedger(t, path))(r.Server)
	if status, text, again := r.answered(t, "POST", "/v1/tokens", token, body, aKey); status != 201 || text != first || !again {
		t.Errorf("%d %v %s", status, again, text)
	}
	if status, text, _ := r.answered(t, "POST", "/v1/tokens", token, body, "Idempotency-Key: short"); status != 400 || !strings.Contains(text, "UUID") {
		t.Errorf("a short key for a token: %d %s", status, text)
	}
}

// forgetful is a ledger of a daemon that dies before it records an answer.
type forgetful struct{ forkbox.AccessLedger }

func (forgetful) EndKeyed(context.Context, forkbox.Keyed) error { return errors.New("killed") }

// eventful has events of what was created.
type eventful struct {
	*fakeEngine
	told []forkbox.Event
}

func (e *eventful) Create(ctx context.Context, who forkbox.Owner, spec engine.CreateSpec) (forkbox.Box, error) {
	box, err := e.fakeEngine.Create(ctx, who, spec)
	e.told = append(e.told, forkbox.Event{Kind: forkbox.EventBoxCreated, Box: box.ID, Name: box.Name, Request: forkbox.RequestOf(ctx)})
	return box, err
}

func (e *eventful) Events(_ context.Context, _ forkbox.Owner, _ engine.EventSpec, yield func(forkbox.Event) error) error {
	for _, event := range append(e.told, forkbox.Event{Kind: forkbox.EventBoxCreated, Box: "b2", Request: "another"}) {
		if err := yield(event); err != nil {
			return err
		}
	}
	return nil
}

func TestALostAnswerMakesNoSecondBox(t *testing.T) {
	records := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	r := startOutside(t, keeping(forgetful{records}), func(s *Server) { s.Engine = &eventful{fakeEngine: s.Engine.(*fakeEngine)} })
	token := r.token(t, "boxes")
	if status, text, _ := r.answered(t, "POST", "/v1/boxes", token, `{"name":"try"}`, aKey); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	keeping(records)(r.Server) // the next daemon
	for range 2 {
		status, text, again := r.answered(t, "POST", "/v1/boxes", token, `{"name":"try"}`, aKey)
		if status != 409 || again || !strings.Contains(text, "box.created b1 try") || strings.Contains(text, "b2") || !strings.Contains(text, "GET /v1/events?after=0") {
			t.Errorf("%d %s", status, text)
		}
	}
	if status, text, _ := r.answered(t, "POST", "/v1/boxes", token, `{"name":"tri"}`, aKey); status != 400 {
		t.Errorf("another body: %d %s", status, text)
	}
	if len(r.engine.created) != 1 {
		t.Errorf("%d boxes were made", len(r.engine.created))
	}
}

// TestWhatIsRefusedIsTriedAgain, and what failed half-way is not.
func TestWhatIsRefusedIsTriedAgain(t *testing.T) {
	fails := &failing{err: forkbox.Errorf(forkbox.Busy, "save", "not now")}
	r := startOutside(t, withKeys(t), func(s *Server) { fails.fakeEngine, s.Engine = s.Engine.(*fakeEngine), fails })
	token := r.token(t, "boxes")
	ask := func() (int, string, bool) {
		return r.answered(t, "POST", "/v1/boxes/b1/snapshots", token, `{}`, aKey)
	}
	for n := 1; n <= 2; n++ {
		if status, text, again := ask(); status != 409 || again || fails.asked != n {
			t.Errorf("%d %v %s, asked %d times", status, again, text, fails.asked)
		}
	}
	fails.err = context.Canceled
	ask()
	fails.err = errors.New("the disk is broken")
	if status, text, again := ask(); status != 500 || again || fails.asked != 4 {
		t.Errorf("%d %v %s, asked %d times", status, again, text, fails.asked)
	}
	if status, text, again := ask(); status != 500 || !again || !strings.Contains(text, "the disk is broken") || fails.asked != 4 {
		t.Errorf("%d %v %s, asked %d times", status, again, text, fails.asked)
	}
}

type failing struct {
	*fakeEngine
	err   error
	asked int
}

func (f *failing) Snapshot(context.Context, forkbox.Owner, string, forkbox.SnapshotSpec) (forkbox.Snapshot, error) {
	f.asked++
	return forkbox.Snapshot{}, f.err
}

// importing counts archives, and refuses those that begin with "bad".
type importing struct {
	*fakeEngine
	asked int
}

func (f *importing) ImportWith(_ context.Context, _ forkbox.Owner, r io.Reader, _ forkbox.ImportSpec, _ forkbox.Wish, _ forkbox.NetWish) (forkbox.Import, error) {
	f.asked++
	begin := make([]byte, 3)
	if _, err := io.ReadFull(r, begin); err != nil || string(begin) == "bad" {
		return forkbox.Import{}, forkbox.Errorf(forkbox.Invalid, "import", "it is no archive")
	}
	return forkbox.Import{Box: forkbox.Box{ID: "b1"}}, nil
}

// TestAnArchiveIsComparedToItsEnd: a body that is taken as it comes, as well.
func TestAnArchiveIsComparedToItsEnd(t *testing.T) {
	engine := &importing{}
	r := startOutside(t, withKeys(t), func(s *Server) { engine.fakeEngine, s.Engine = s.Engine.(*fakeEngine), engine })
	token := r.token(t, "boxes")
	archive := "tar" + strings.Repeat("x", 1<<20)
	if status, text, _ := r.answered(t, "POST", "/v1/import", token, "bad", aKey); status != 400 {
		t.Fatalf("%d %s", status, text)
	}
	status, first, again := r.answered(t, "POST", "/v1/import", token, archive, aKey)
	if status != 201 || again {
		t.Fatalf("%d %s", status, first)
	}
	if status, text, again := r.answered(t, "POST", "/v1/import", token, archive, aKey); status != 201 || text != first || !again {
		t.Errorf("%d %v %s", status, again, text)
	}
	if status, text, _ := r.answered(t, "POST", "/v1/import", token, archive+"y", aKey); status != 400 || !strings.Contains(text, "another request's") {
		t.Errorf("%d %s", status, text)
	}
	if engine.asked != 2 {
		t.Errorf("%d archives were taken", engine.asked)
	}
}

// TestAKeyPromisesNothingThatItDoesNotHold: what takes none says so, what needs none
// does not mind.
func TestAKeyPromisesNothingThatItDoesNotHold(t *testing.T) {
	r := startOutside(t, withKeys(t))
	token := r.token(t, "all")
	for what, c := range map[string]struct {
		method, path, body, header string
		status                     int
	}{
		"a run":             {"POST", "/v1/run?stream=raw", `{"exec":{"argv":["true"]}}`, aKey, 400},
		"a streamed exec":   {"POST", "/v1/boxes/b1/execs?stream=raw", `{"argv":["true"]}`, aKey, 400},
		"a look":            {"POST", "/v1/limits", `{}`, aKey, 400},
		"an empty key":      {"POST", "/v1/boxes", `{}`, "Idempotency-Key: ", 400},
		"a long key":        {"POST", "/v1/boxes", `{}`, "Idempotency-Key: " + strings.Repeat("x", 201), 400},
		"an odd key":        {"POST", "/v1/boxes", `{}`, "Idempotency-Key: é", 400},
		"a get":             {"GET", "/v1/boxes", ``, aKey, 200},
		"a delete":          {"DELETE", "/v1/boxes/b1?force=1", ``, aKey, 204},
		"the longest key":   {"POST", "/v1/boxes", `{}`, "Idempotency-Key: " + strings.Repeat("x", 200), 201},
		"an exec":           {"POST", "/v1/boxes/b1/execs", `{"argv":["true"]}`, "Idempotency-Key: exec", 201},
		"what is no object": {"POST", "/v1/boxes", `[]`, "Idempotency-Key: bad", 400},
	} {
		if status, text, again := r.answered(t, c.method, c.path, token, c.body, c.header); status != c.status || again {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	r.Keys = nil
	if status, text, _ := r.answered(t, "POST", "/v1/boxes", token, `{}`, aKey); status != 501 {
		t.Errorf("%d %s", status, text)
	}
}
