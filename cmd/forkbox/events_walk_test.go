//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
)

// tellsNothing are the routes that are no GET and change nothing that events are
// about, each with why.
var tellsNothing = map[string]string{
	"tryLimits":       "it asks what a box would get",
	"explainNet":      "it asks what the gate would do",
	"waitPort":        "it waits",
	"openPort":        "the URL is in the daemon's memory alone, and the box is as it was",
	"resizeExec":      "the size of a terminal is kept nowhere",
	"suspendExec":     "a command stops itself as well, and no record says so",
	"attachExec":      "a caller reads along",
	"joinExec":        "a caller reads along",
	"addBase":         "what was unpacked is no owner's until a box is made of it, which is told",
	"mendStray":       "strays are of no box or receipt any more; the audit trail has what became of them",
	"cancelOperation": "an operation is a request that goes on; what it changed, or failed to, is told as if it had not been cancelled",
	"writeFile":       "what is in a box its commands change as well; watchFiles tells",
	"removeFile":      "as writeFile",
	"makeDir":         "as writeFile",
	"moveFile":        "as writeFile",
	"tarIn":           "as writeFile",
	"controlService":  "a service is a command, whose start and end are told, and that it is ready",
	"refreshServices": "a still is no box's until one is made of it, which is told",
}

// TestEveryChangeIsTold: each route that changes something is walked by one of the
// tests below, or is in the list above.
func TestEveryChangeIsTold(t *testing.T) {
	var walked []string
	for _, s := range slices.Concat((&walk{}).steps(), (&storeWalk{}).steps()) {
		walked = append(walked, s.route.Name)
	}
	for _, r := range api.Routes() {
		if r.Method == http.MethodGet && r.Answer != api.SocketAnswer {
			continue
		}
		silent := tellsNothing[r.Name] != ""
		if told := slices.Contains(walked, r.Name); told == silent {
			t.Errorf("%s: walked %v, exempt %v: a route that changes something has its events checked here", r.Name, told, silent)
		}
	}
}

// step is a call that changes something.
type step struct {
	route *api.Route
	// do makes the call and says which events it is. What an event of these leaves
	// open is not compared, but for its owner.
	do func() []forkbox.Event
}

// listener hears of events as they come.
type listener struct {
	w     *limitWorld
	heard chan forkbox.Event
	all   []forkbox.Event
}

func listen(w *limitWorld) *listener {
	l := &listener{w: w, heard: make(chan forkbox.Event)}
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.Events(ctx, client.EventSpec{Follow: true}, func(e forkbox.Event) error {
			select {
			case l.heard <- e:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	w.Cleanup(func() { cancel(); <-done })
	return l
}

// take makes the call of a step and waits until each of its events has come, in
// their order.
func (l *listener) take(s step) {
	l.w.Helper()
	at := len(l.all)
	for _, want := range s.do() {
		for {
			if at == len(l.all) {
				l.next(s.route.Name, want)
			}
			e := l.all[at]
			at++
			if isOf(e, want) {
				if e.UID != os.Geteuid() || e.ID == 0 || e.Time.IsZero() || e.Text == "" {
					l.w.Errorf("%s: %+v", s.route.Name, e)
				}
				break
			}
		}
	}
}

func (l *listener) next(during string, want forkbox.Event) {
	l.w.Helper()
	select {
	case e := <-l.heard:
		l.all = append(l.all, e)
	case <-time.After(worldPatience):
		l.w.Fatalf("%s is not told as %+v, but as %+v\n%s", during, want, l.all[max(0, len(l.all)-8):], l.w.log())
	}
}

// isOf says whether an event is one that is waited for.
func isOf(e, want forkbox.Event) bool {
	same := func(is, want string) bool { return want == "" || is == want }
	return e.Kind == want.Kind && same(e.Box, want.Box) && same(e.Exec, want.Exec) && same(e.Snapshot, want.Snapshot) && same(e.Template, want.Template) &&
		same(e.Receipt, want.Receipt) && same(e.Race, want.Race) && same(e.Secret, want.Secret) && same(e.Token, want.Token)
}

func of(box string, kinds ...forkbox.EventKind) (all []forkbox.Event) {
	for _, kind := range kinds {
		all = append(all, forkbox.Event{Kind: kind, Box: box})
	}
	return all
}

// metrics are what a scraper reads.
func (w *served) metrics() string {
	w.Helper()
	resp, err := w.web().Get("http://forkbox/metrics")
	w.ok(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	w.ok(err)
	return string(text)
}

// called finds that each step was the call that it says. Those over a connection
// that is kept for the next command are counted when that is closed.
func called(w *limitWorld, steps []step) {
	w.Helper()
	w.Client.Close()
	for _, s := range steps {
		w.until(s.route.Name+" was called", func() bool {
			return strings.Contains(w.metrics(), `forkbox_requests_total{route="`+s.route.Name+`",code="ok"}`)
		})
	}
}

// walk calls whatever changes boxes, and what their owner keeps.
type walk struct {
	*limitWorld
	box     string // id of the box that most is done to
	exec    string
	child   string
	receipt string
	race    string
	token   string
}

// TestEventsOfEveryChange calls each route that changes something and hears of it.
func TestEventsOfEveryChange(t *testing.T) {
	t.Parallel()
	w := &walk{limitWorld: newLimitWorld(t, calm)}
	l := listen(w.limitWorld)
	steps := w.steps()
	for _, s := range steps {
		l.take(s)
	}
	called(w.limitWorld, steps)
	var again []forkbox.Event
	w.ok(w.Events(w.Context(), client.EventSpec{}, func(e forkbox.Event) error { again = append(again, e); return nil }))
	for i, e := range l.all {
		if i >= len(again) || again[i].ID != e.ID || again[i].Kind != e.Kind {
			t.Fatalf("event %d was told as %+v and is not so in the list", i, e)
		}
	}
}

func (w *walk) steps() []step {
	return slices.Concat(w.boxSteps(), w.execSteps(), w.policySteps(), w.snapshotSteps(), w.changeSteps(), w.ownerSteps(), w.raceSteps(), w.endSteps())
}

func (w *walk) boxSteps() []step {
	return []step{
		{api.CreateBox.Route, func() []forkbox.Event {
			w.ok(os.WriteFile(filepath.Join(w.root, "old"), []byte("old\n"), 0o644))
			made, err := w.Create(w.Context(), api.CreateRequest{
				Name: "walk", Dir: w.root, Env: os.Environ(), Net: "policy", NetWish: forkbox.NetWish{Preset: "locked"}, Wish: forkbox.Wish{Limits: limits(w.T, "ttl=1h")},
			})
			w.ok(err)
			w.box = made.ID
			return of(w.box, forkbox.EventBoxCreated)
		}},
		{api.StartBox.Route, func() []forkbox.Event {
			_, err := w.Client.Start(w.Context(), w.box)
			w.ok(err)
			return of(w.box, forkbox.EventBoxStarted)
		}},
		{api.StopBox.Route, func() []forkbox.Event {
			_, err := w.Stop(w.Context(), w.box, nil)
			w.ok(err)
			return of(w.box, forkbox.EventBoxStopped)
		}},
		{api.KeepBox.Route, func() []forkbox.Event {
			for _, keep := range []bool{true, false} {
				_, err := w.Keep(w.Context(), w.box, keep)
				w.ok(err)
			}
			return of(w.box, forkbox.EventBoxKept, forkbox.EventBoxUnkept)
		}},
	}
}

// sh starts a command in the background.
func (w *walk) sh(script string) {
	w.Helper()
	made, err := w.ExecDetached(w.Context(), w.box, api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sh", "-c", script}, Dir: w.root}})
	w.ok(err)
	w.exec = made.ID
}

func (w *walk) ofExec(kinds ...forkbox.EventKind) (all []forkbox.Event) {
	for _, e := range of(w.box, kinds...) {
		e.Exec = w.exec
		all = append(all, e)
	}
	return all
}

func (w *walk) execSteps() []step {
	return []step{
		{api.StartExec.Route, func() []forkbox.Event {
			w.sh("exec sleep 1000")
			return append(of(w.box, forkbox.EventBoxStarted), w.ofExec(forkbox.EventExecStarted)...)
		}},
		{api.SignalExec.Route, func() []forkbox.Event {
			w.ok(w.Signal(w.Context(), w.box, w.exec, 15))
			return w.ofExec(forkbox.EventExecEnded)
		}},
		{api.KillExec.Route, func() []forkbox.Event {
			w.sh("exec sleep 1000")
			w.ok(w.Kill(w.Context(), w.box, w.exec, 0))
			return w.ofExec(forkbox.EventExecStarted, forkbox.EventExecEnded)
		}},
		{api.StreamExec.Route, func() []forkbox.Event {
			req := api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"sh", "-c", "echo new > old"}, Dir: w.root}}
			s, err := w.webSocket().Exec(w.Context(), w.box, req, forkbox.Stdio{})
			w.ok(err)
			defer s.Close()
			w.exec = s.Info().ID
			return w.ofExec(forkbox.EventExecStarted, forkbox.EventExecEnded)
		}},
		{api.RunCommand.Route, func() []forkbox.Event { return w.runs(w.Client) }},
		{api.StreamRun.Route, func() []forkbox.Event { return w.runs(w.webSocket()) }},
	}
}

func (w *walk) webSocket() *client.Client {
	c := client.New(filepath.Join(w.home, "forkbox.sock"))
	c.WebSocket = true
	w.Cleanup(c.Close)
	return c
}

func (w *walk) runs(c *client.Client) []forkbox.Event {
	w.Helper()
	made, s, err := c.Run(w.Context(), api.RunRequest{
		Create: api.CreateRequest{Dir: w.root, Env: os.Environ(), Net: "none"},
		Exec:   api.ExecRequest{ExecSpec: forkbox.ExecSpec{Argv: []string{"true"}, Dir: w.root}, Stop: true},
	}, forkbox.Stdio{})
	w.ok(err)
	defer s.Close()
	_, err = s.Wait(w.Context())
	w.ok(err)
	return of(made.ID, forkbox.EventBoxCreated, forkbox.EventBoxStarted, forkbox.EventExecStarted, forkbox.EventExecEnded, forkbox.EventBoxStopped)
}

func (w *walk) policySteps() []step {
	port := forkbox.Port{Box: 8080}
	return []step{
		{api.SetLimits.Route, func() []forkbox.Event {
			w.ok(w.set(w.box, "ttl=2h"))
			return of(w.box, forkbox.EventLimits)
		}},
		{api.ExtendBox.Route, func() []forkbox.Event {
			_, err := w.Extend(w.Context(), w.box, time.Hour)
			w.ok(err)
			return of(w.box, forkbox.EventExtended)
		}},
		{api.PauseBox.Route, func() []forkbox.Event {
			_, err := w.Pause(w.Context(), w.box)
			w.ok(err)
			return of(w.box, forkbox.EventPaused)
		}},
		{api.ResumeBox.Route, func() []forkbox.Event {
			_, err := w.Resume(w.Context(), w.box)
			w.ok(err)
			return of(w.box, forkbox.EventResumed)
		}},
		{api.ChangeNet.Route, func() []forkbox.Event {
			_, err := w.ChangeNet(w.Context(), w.box, api.NetChange{Add: []string{"allow api.example.com:443"}})
			w.ok(err)
			return of(w.box, forkbox.EventNetwork)
		}},
		{api.PublishPort.Route, func() (told []forkbox.Event) {
			made, err := w.Publish(w.Context(), w.box, port)
			w.ok(err)
			port = made
			return of(w.box, forkbox.EventPorts)
		}},
		{api.UnpublishPort.Route, func() []forkbox.Event {
			w.ok(w.Unpublish(w.Context(), w.box, port))
			return of(w.box, forkbox.EventPorts)
		}},
	}
}

func (w *walk) snapshotSteps() []step {
	var made forkbox.Snapshot
	var start forkbox.Template
	about := func(kind forkbox.EventKind, id string) []forkbox.Event {
		return []forkbox.Event{{Kind: kind, Box: w.box, Snapshot: id}}
	}
	template := func(kind forkbox.EventKind) []forkbox.Event {
		return []forkbox.Event{{Kind: kind, Template: start.ID}}
	}
	return []step{
		{api.CreateSnapshot.Route, func() (told []forkbox.Event) {
			var err error
			made, err = w.Snapshot(w.Context(), w.box, forkbox.SnapshotSpec{Name: "one"})
			w.ok(err)
			return about(forkbox.EventSnapshotMade, made.ID)
		}},
		{api.RollbackBox.Route, func() []forkbox.Event {
			back, err := w.Rollback(w.Context(), w.box, forkbox.RollbackSpec{To: "one", Force: true})
			w.ok(err)
			return append(about(forkbox.EventSnapshotMade, back.Kept.ID), of(w.box, forkbox.EventRolledBack)...)
		}},
		{api.ForkBox.Route, func() []forkbox.Event {
			fork, err := w.Fork(w.Context(), w.box+"@one", forkbox.ForkSpec{Name: "child"})
			w.ok(err)
			w.child = fork.Children[0].Box.ID
			return append(of(w.child, forkbox.EventBoxCreated), of(w.box, forkbox.EventBoxForked)...)
		}},
		{api.CreateTemplate.Route, func() (told []forkbox.Event) {
			var err error
			start, err = w.CreateTemplate(w.Context(), forkbox.TemplateSpec{Name: "start", From: "walk@one"})
			w.ok(err)
			return template(forkbox.EventTemplateMade)
		}},
		{api.WarmTemplate.Route, func() []forkbox.Event {
			_, err := w.WarmTemplate(w.Context(), "start", 0)
			w.ok(err)
			return template(forkbox.EventTemplateWarmed)
		}},
		{api.RemoveTemplate.Route, func() []forkbox.Event {
			w.ok(w.RemoveTemplate(w.Context(), "start"))
			return template(forkbox.EventTemplateRemoved)
		}},
		{api.RemoveSnapshot.Route, func() []forkbox.Event {
			w.ok(w.RemoveSnapshot(w.Context(), w.box+"@one", true))
			return about(forkbox.EventSnapshotRemoved, made.ID)
		}},
	}
}

func (w *walk) changeSteps() []step {
	receipt := func(kind forkbox.EventKind) []forkbox.Event {
		return []forkbox.Event{{Kind: kind, Box: w.box, Receipt: w.receipt}}
	}
	return []step{
		{api.SyncBox.Route, func() []forkbox.Event {
			w.ok(os.WriteFile(filepath.Join(w.root, "more"), []byte("more\n"), 0o644))
			_, err := w.Sync(w.Context(), w.box)
			w.ok(err)
			return of(w.box, forkbox.EventBoxSynced)
		}},
		{api.ApplyBox.Route, func() []forkbox.Event {
			r, err := w.Apply(w.Context(), w.box, forkbox.ApplySpec{Yes: true})
			w.ok(err)
			w.receipt = r.ID
			return receipt(forkbox.EventReceiptApplied)
		}},
		{api.UndoReceipt.Route, func() []forkbox.Event {
			_, err := w.Undo(w.Context(), w.receipt, api.UndoRequest{})
			w.ok(err)
			return receipt(forkbox.EventReceiptUndone)
		}},
		{api.DiscardChanges.Route, func() []forkbox.Event {
			_, err := w.Discard(w.Context(), w.box, forkbox.Selection{Paths: []string{filepath.Join(w.root, "old")}})
			w.ok(err)
			return of(w.box, forkbox.EventBoxDiscarded)
		}},
		{api.ImportBox.Route, func() []forkbox.Event {
			var image bytes.Buffer
			w.ok(w.Export(w.Context(), w.child, &image))
			made, err := w.Import(w.Context(), &image, forkbox.ImportSpec{Name: "back"})
			w.ok(err)
			return of(made.Box.ID, forkbox.EventBoxCreated)
		}},
	}
}

func (w *walk) ownerSteps() []step {
	return []step{
		{api.SetSecret.Route, func() []forkbox.Event {
			w.ok(w.SetSecret(w.Context(), "KEY", api.SecretRequest{Value: "hush-hush-hush", Hosts: []string{"api.example.com"}}))
			return []forkbox.Event{{Kind: forkbox.EventSecretSet, Secret: "KEY"}}
		}},
		{api.RemoveSecret.Route, func() []forkbox.Event {
			w.ok(w.RemoveSecret(w.Context(), "KEY"))
			return []forkbox.Event{{Kind: forkbox.EventSecretRemoved, Secret: "KEY"}}
		}},
		{api.CreateToken.Route, func() []forkbox.Event {
			made, err := w.CreateToken(w.Context(), api.TokenRequest{Name: "one", Scopes: []string{"read"}})
			w.ok(err)
			w.token = made.Made.ID
			return []forkbox.Event{{Kind: forkbox.EventTokenMade, Token: w.token}}
		}},
		{api.RemoveToken.Route, func() []forkbox.Event {
			_, err := w.RemoveToken(w.Context(), "one")
			w.ok(err)
			return []forkbox.Event{{Kind: forkbox.EventTokenRevoked, Token: w.token}}
		}},
	}
}

func (w *walk) raceSteps() []step {
	begin := func(script string) {
		w.Helper()
		r, err := w.StartRace(w.Context(), forkbox.RaceSpec{
			Start:      forkbox.RaceStart{Dir: w.root, Env: os.Environ(), Net: "none"},
			Approaches: []forkbox.Approach{{Name: "only", Steps: []forkbox.Command{{Run: script}}}},
		})
		w.ok(err)
		w.race = r.ID
	}
	about := func(kinds ...forkbox.EventKind) (all []forkbox.Event) {
		for _, kind := range kinds {
			all = append(all, forkbox.Event{Kind: kind, Race: w.race})
		}
		return all
	}
	return []step{
		{api.StartRace.Route, func() []forkbox.Event {
			begin("echo won > won")
			return about(forkbox.EventRaceStarted, forkbox.EventApproachDone, forkbox.EventRaceEnded)
		}},
		{api.ApplyRace.Route, func() []forkbox.Event {
			landed, err := w.ApplyRace(w.Context(), w.race, forkbox.RaceApply{ApplySpec: forkbox.ApplySpec{Yes: true}})
			w.ok(err)
			applied := forkbox.Event{Kind: forkbox.EventReceiptApplied, Receipt: landed.Receipt.ID}
			return append([]forkbox.Event{applied}, about(forkbox.EventRaceApplied)...)
		}},
		{api.RemoveRace.Route, func() []forkbox.Event {
			w.ok(w.RemoveRace(w.Context(), w.race, false))
			return about(forkbox.EventRaceRemoved)
		}},
		{api.CancelRace.Route, func() []forkbox.Event {
			begin("exec sleep 1000")
			_, err := w.CancelRace(w.Context(), w.race)
			w.ok(err)
			return about(forkbox.EventRaceStarted, forkbox.EventRaceCancelled)
		}},
	}
}

// endSteps have everything go. A box in which something runs first comes to rest.
func (w *walk) endSteps() []step {
	return []step{
		{api.CollectBoxes.Route, func() []forkbox.Event {
			done, err := w.GC(w.Context(), forkbox.GCSpec{IdleFor: 1, Unreviewed: true})
			w.ok(err)
			if len(done.Removed) == 0 {
				w.Fatalf("gc found nothing: %+v", done)
			}
			var told []forkbox.Event
			for _, c := range done.Removed {
				told = append(told, of(c.ID, forkbox.EventBoxRemoved)...)
			}
			return append(told, forkbox.Event{Kind: forkbox.EventCollected})
		}},
		{api.RemoveBox.Route, func() []forkbox.Event {
			made, err := w.Create(w.Context(), api.CreateRequest{Name: "last", Dir: w.root, Env: os.Environ(), Net: "none"})
			w.ok(err)
			w.box = made.ID
			w.sh("exec sleep 1000")
			w.ok(w.Remove(w.Context(), w.box, true))
			return append(w.ofExec(forkbox.EventExecEnded), of(w.box, forkbox.EventBoxStopped, forkbox.EventBoxRemoved)...)
		}},
		{api.RepairStore.Route, func() []forkbox.Event {
			_, err := w.Repair(w.Context())
			w.ok(err)
			return []forkbox.Event{{Kind: forkbox.EventStoreRepaired}}
		}},
	}
}

// storeWalk calls what changes the pool. Two of these calls end their daemon.
type storeWalk struct{ *limitWorld }

func TestEventsOfTheStore(t *testing.T) {
	t.Parallel()
	needsPool(t)
	w := storeWalk{newLimitWorld(t, calm)}
	for n, s := range w.steps() {
		want, told := s.do(), w.events("")
		if len(told) != n+1 || !isOf(told[n], want[0]) || told[n].UID != os.Geteuid() || told[n].Text == "" {
			t.Fatalf("after %s these were told: %+v", s.route.Name, told)
		}
	}
}

func (w *storeWalk) steps() []step {
	told := []forkbox.Event{{Kind: forkbox.EventStoreChanged}}
	return []step{
		{api.InitStore.Route, func() []forkbox.Event {
			_, err := w.InitStore(w.Context(), 1<<30)
			w.ok(err)
			w.next()
			return told
		}},
		{api.GrowStore.Route, func() []forkbox.Event {
			_, err := w.GrowStore(w.Context(), 2<<30)
			w.ok(err)
			return told
		}},
		{api.RemoveStore.Route, func() []forkbox.Event {
			w.ok(w.RemoveStore(w.Context()))
			w.next()
			return told
		}},
	}
}
