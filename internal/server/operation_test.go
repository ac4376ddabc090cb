package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/operations"
)

// landing is an engine whose applies wait to be told to go on, or to be cancelled.
type landing struct {
	*fakeEngine
	began, goOn chan struct{}
}

func (l *landing) Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	forkbox.ReportOf(ctx)(forkbox.Progress{Step: "staging", Done: 7, Unit: "paths"})
	l.began <- struct{}{}
	select {
	case <-l.goOn:
		return l.fakeEngine.Apply(ctx, who, ref, spec)
	case <-ctx.Done():
		return forkbox.Receipt{}, forkbox.Wrap("apply", ctx.Err())
	}
}

func (l *landing) ImportWith(ctx context.Context, _ forkbox.Owner, r io.Reader, _ forkbox.ImportSpec, _ forkbox.Wish, _ forkbox.NetWish) (forkbox.Import, error) {
	if _, err := io.CopyN(io.Discard, r, 2<<20); err != nil {
		return forkbox.Import{}, err
	}
	l.began <- struct{}{}
	<-ctx.Done()
	return forkbox.Import{}, forkbox.Wrap("import", ctx.Err())
}

func operating(l forkbox.AccessLedger) func(*Server) {
	return func(s *Server) {
		s.Operations = operations.NewKeeper(l, slog.New(slog.DiscardHandler))
		s.Operations.Events = eventsOf(s.Engine)
	}
}

// startLanding is a server whose applies take long.
func startLanding(t *testing.T) (*reached, *landing, forkbox.AccessLedger) {
	t.Helper()
	records := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"))
	set, _ := withTrail(t)
	l := &landing{began: make(chan struct{}), goOn: make(chan struct{})}
	r := startOutside(t, set, withKeys(t), func(s *Server) { l.fakeEngine, s.Engine = s.Engine.(*fakeEngine), l }, operating(records))
	return r, l, records
}

const preferAsync = "Prefer: respond-async"

// operation is what a request was answered with.
func (r *reached) operation(t *testing.T, method, path, token string, headers ...string) (*http.Response, forkbox.Operation) {
	t.Helper()
	resp, text := r.ask(t, method, path, token, "{}", headers...)
	var op forkbox.Operation
	if err := json.Unmarshal([]byte(text), &op); err != nil || op.ID == "" {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return resp, op
}

func TestLongWorkGoesOnWithoutItsCaller(t *testing.T) {
	r, l, _ := startLanding(t)
	token := r.token(t, "apply", "boxes")
	resp, op := r.operation(t, "POST", "/v1/boxes/b1/apply", token, preferAsync, aKey)
	if resp.StatusCode != 202 || resp.Header.Get("Location") != "/v1/operations/"+op.ID || op.State != forkbox.OperationRunning || !op.Async || op.Kind != "applyBox" || op.Target != "b1" {
		t.Errorf("%d %v %+v", resp.StatusCode, resp.Header, op)
	}
	<-l.began
	if _, now := r.operation(t, "GET", "/v1/operations/"+op.ID, token); now.State != forkbox.OperationRunning || now.Progress.Step != "staging" || now.Progress.Done != 7 {
		t.Errorf("%+v", now)
	}
	if _, again := r.operation(t, "POST", "/v1/boxes/b1/apply", token, preferAsync, aKey); again.ID != op.ID {
		t.Errorf("a repeat is another operation: %+v", again)
	}
	var states []forkbox.OperationState
	followed := make(chan error, 1)
	first := make(chan struct{})
	go func() {
		followed <- r.client.FollowOperation(t.Context(), op.ID, func(op forkbox.Operation) error {
			if states = append(states, op.State); len(states) == 1 {
				close(first)
			}
			return nil
		})
	}()
	<-first
	close(l.goOn)
	if err := <-followed; err != nil || len(states) < 2 || states[len(states)-1] != forkbox.OperationDone {
		t.Errorf("%v %v", err, states)
	}
	_, done := r.operation(t, "GET", "/v1/operations/"+op.ID, token)
	receipt, _ := done.Result.(map[string]any)
	if done.State != forkbox.OperationDone || done.Ended == nil || done.Error != nil || receipt["id"] != "r1" {
		t.Errorf("%+v", done)
	}
	if list, err := r.client.Operations(t.Context()); err != nil || len(list) != 1 || list[0].ID != op.ID {
		t.Errorf("%v %+v", err, list)
	}
	if lines := strings.Join(r.audited(t, ""), "\n"); !strings.Contains(lines, `token applyBox "b1" ok 1`) {
		t.Errorf("the trail has\n%s", lines)
	}
}

func TestLongWorkIsCancelled(t *testing.T) {
	r, l, _ := startLanding(t)
	token := r.token(t, "apply", "boxes")
	_, op := r.operation(t, "POST", "/v1/boxes/b1/apply", token, preferAsync)
	<-l.began
	if resp, text := r.ask(t, "POST", "/v1/operations/"+op.ID+"/cancel", r.token(t, "boxes"), ""); resp.StatusCode != 403 || !strings.Contains(text, "apply") {
		t.Errorf("without the scope of what began it: %d %s", resp.StatusCode, text)
	}
	if _, now := r.operation(t, "POST", "/v1/operations/"+op.ID+"/cancel", token); now.State != forkbox.OperationCancelled || now.Error == nil || len(l.applied) > 0 {
		t.Errorf("%+v", now)
	}
	if _, now := r.operation(t, "POST", "/v1/operations/"+op.ID+"/cancel", token); now.State != forkbox.OperationCancelled {
		t.Errorf("again: %+v", now)
	}
	if resp, text := r.ask(t, "GET", "/v1/operations/nosuch", token, ""); resp.StatusCode != 404 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// TestWhatIsWaitedForCanBeCancelled, too: it is an operation as long as it lasts.
func TestWhatIsWaitedForCanBeCancelled(t *testing.T) {
	r, l, _ := startLanding(t)
	token := r.token(t, "apply", "boxes")
	for path, progress := range map[string]forkbox.Progress{
		"/v1/boxes/b1/apply": {Step: "staging", Unit: "paths"},
		"/v1/import":         {Step: "receiving", Total: 2 << 20, Unit: "bytes"},
	} {
		body := "{}"
		if path == "/v1/import" {
			body = strings.Repeat("x", 2<<20)
		}
		type answer struct {
			status int
			text   string
		}
		answered := make(chan answer, 1)
		go func() {
			resp, text := r.ask(t, "POST", path, token, body, "X-Request-Id: mine")
			answered <- answer{resp.StatusCode, text}
		}()
		<-l.began
		list, err := r.client.Operations(t.Context())
		if err != nil || len(list) != 1 || list[0].Async || list[0].Request != "mine" || list[0].Progress.Done == 0 {
			t.Fatalf("%s: %v %+v", path, err, list)
		}
		if progress.Done = list[0].Progress.Done; list[0].Progress != progress {
			t.Errorf("%s: %+v", path, list[0].Progress)
		}
		if op, err := r.client.CancelOperation(t.Context(), list[0].ID); err != nil || op.State != forkbox.OperationCancelled {
			t.Errorf("%s: %v %+v", path, err, op)
		}
		if a := <-answered; a.status != 409 || !strings.Contains(a.text, "it was cancelled") {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
		if list, err := r.client.Operations(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%s: %v %+v", path, err, list)
		}
	}
}

// TestADaemonThatEndsInterruptsLongWork: one that is told to end puts it back, and of
// one that was killed the next says what is known.
func TestADaemonThatEndsInterruptsLongWork(t *testing.T) {
	r, l, records := startLanding(t)
	token := r.token(t, "apply", "boxes")
	_, op := r.operation(t, "POST", "/v1/boxes/b1/apply", token, preferAsync)
	<-l.began
	l.events = []forkbox.Event{
		{ID: 1, Kind: forkbox.EventReceiptFailed, Box: "b1", Receipt: "r7", Text: "it was put back"},
		{ID: 2, Kind: forkbox.EventBoxStopped, Box: "b1"},
		{ID: 3, Kind: forkbox.EventBoxCreated, Box: "b2", Request: op.Request},
	}
	next := operations.NewKeeper(records, slog.New(slog.DiscardHandler)) // as if this daemon had been killed
	next.Events = eventsOf(l)
	list, err := next.List(t.Context(), r.uid)
	if err != nil || len(list) != 1 || list[0].State != forkbox.OperationInterrupted || len(list[0].Found) != 2 || list[0].Found[0].Receipt != "r7" {
		t.Errorf("%v %+v", err, list)
	}
	if others, err := next.List(t.Context(), 4711); err != nil || len(others) != 0 {
		t.Errorf("another user sees %+v %v", others, err)
	}
	r.Operations.Stop()
	list, err = records.Operations(t.Context(), r.uid)
	if err != nil || len(list) != 1 || list[0].State != forkbox.OperationInterrupted || list[0].Error == nil || len(l.applied) > 0 {
		t.Errorf("%v %+v", err, list)
	}
	if resp, text := r.ask(t, "POST", "/v1/boxes/b1/apply", token, "{}", preferAsync); resp.StatusCode != 503 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
