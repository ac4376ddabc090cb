package server

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func someRace() forkbox.RaceSpec {
	return forkbox.RaceSpec{
		Name:       "fix",
		Start:      forkbox.RaceStart{Dir: "/src", Env: []string{"A=1"}, Wish: forkbox.Wish{Limits: forkbox.Limits{forkbox.Memory: 1 << 30}}},
		Setup:      []forkbox.Command{{Run: "npm ci"}},
		Approaches: []forkbox.Approach{{Name: "dep", Steps: []forkbox.Command{{Argv: []string{"a", "b\xff"}}}, Prompt: "do\nit"}},
		Checks:     []forkbox.RaceCheck{{Command: forkbox.Command{Run: "npm test", Timeout: time.Minute}, Must: true}},
		Metrics:    []forkbox.Metric{{Command: forkbox.Command{Run: "make"}, Time: true, Unit: "s"}},
		Stop:       forkbox.StopFirstPass, Seed: 42,
	}
}

func ignore(forkbox.RaceEvent) error { return nil }

// TestRacesArrive: what is asked for is what the runner gets, and it is the
// peer's.
func TestRacesArrive(t *testing.T) {
	races := newFakeRaces()
	r := start(t, withRaces(races))
	ctx, c := t.Context(), r.client
	race, err := c.StartRace(ctx, someRace())
	if err != nil || race.ID != "r1" || !reflect.DeepEqual(races.started, []forkbox.RaceSpec{someRace()}) || races.who[0].UID != os.Geteuid() {
		t.Fatalf("%+v %v\n%+v of %+v", race, err, races.started, races.who)
	}
	want := forkbox.RaceApply{Approach: "dep", ApplySpec: forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{"/a\xff"}}, Yes: true}}
	if landing, err := c.ApplyRace(ctx, "fix", want); err != nil || landing.Receipt.ID != "c1" || !reflect.DeepEqual(races.applied, []forkbox.RaceApply{want}) {
		t.Errorf("%+v %v, asked for %+v", landing, err, races.applied)
	}
	if err := c.RemoveRace(ctx, "fix", false); err != nil {
		t.Error(err)
	}
	if err := c.RemoveRace(ctx, "fix", true); err != nil || !reflect.DeepEqual(races.removed, []bool{false, true}) {
		t.Errorf("%v %v", races.removed, err)
	}
	if race, err := c.GetRace(ctx, "fix"); err != nil || len(race.Spec.Start.Env) != 1 || len(race.Entries[0].Steps) != 1 {
		t.Errorf("%+v %v", race, err)
	}
	list, err := c.Races(ctx)
	if err != nil || len(list) != 1 || list[0].Spec.Start.Env != nil || list[0].Entries[0].Name != "dep" || list[0].Entries[0].Steps != nil {
		t.Errorf("the list is not brief: %+v %v", list, err)
	}
}

// TestOnlyQuestionsAreAboutTheNewestRace: what changes something has to name
// what it changes.
func TestOnlyQuestionsAreAboutTheNewestRace(t *testing.T) {
	races := newFakeRaces()
	r := start(t, withRaces(races))
	ctx, c := t.Context(), r.client
	if race, err := c.GetRace(ctx, ""); err != nil || race.ID != "r1" {
		t.Errorf("%+v %v", race, err)
	}
	_, cancelErr := c.CancelRace(ctx, "")
	_, applyErr := c.ApplyRace(ctx, "", forkbox.RaceApply{})
	_, otherErr := c.CancelRace(ctx, api.NewestRace)
	for _, err := range []error{cancelErr, applyErr, otherErr, c.RemoveRace(ctx, "", true), c.RemoveRace(ctx, api.NewestRace, true)} {
		if forkbox.CodeOf(err) != forkbox.NotFound {
			t.Error(err)
		}
	}
	if len(races.applied)+len(races.removed) > 0 {
		t.Errorf("%+v %+v", races.applied, races.removed)
	}
}

// TestNoRaceByGuess: a request that is not understood starts and lands nothing.
func TestNoRaceByGuess(t *testing.T) {
	races := newFakeRaces()
	r := start(t, withRaces(races))
	const good = `"approaches":[{"name":"a","steps":[{"run":"true"}]}]`
	for path, bodies := range map[string][]string{
		"POST /v1/races": {
			``, `null`, `[]`, `{}`, `{"approaches":[]}`, `{` + good, `{` + good + `} x`, `{` + good + `,"nmae":"x"}`, `{` + good + `,"seed":"x"}`,
			`{` + good + `,"start":{"wish":{"limits":{"memery":1}}}}`, `{` + good + `,"start":{"wish":{"priority":"x"}}}`,
			`{` + good + `,"start":{"owner":{"uid":0}}}`, `{` + good + `,"name":"` + strings.Repeat("x", maxBody) + `"}`,
		},
		"POST /v1/races/fix/apply":             {``, `{`, `null`, `{"approch":"a"}`, `{"all":tru}`},
		"POST /v1/races/fix/cancel":            {`{"force":true}`, `[]`},
		"DELETE /v1/races/fix?force=perhaps":   {``},
		"GET /v1/races/fix/log?follow=perhaps": {``},
	} {
		method, target, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			if status, text := r.raw(t, method, target, body); status != 400 || !strings.Contains(text, `"code":"invalid"`) {
				t.Errorf("%s %.80s: %d %s", path, body, status, text)
			}
		}
	}
	if len(races.started)+len(races.applied)+len(races.removed) > 0 || races.record().State != forkbox.RaceRunning {
		t.Errorf("something was done all the same: %+v %+v %+v", races.started, races.applied, races.removed)
	}
}

func TestDaemonWithoutRaces(t *testing.T) {
	r := start(t)
	ctx, c := t.Context(), r.client
	_, startErr := c.StartRace(ctx, someRace())
	_, listErr := c.Races(ctx)
	_, getErr := c.GetRace(ctx, "x")
	_, followErr := c.FollowRace(ctx, "x", ignore)
	_, cancelErr := c.CancelRace(ctx, "x")
	_, applyErr := c.ApplyRace(ctx, "x", forkbox.RaceApply{})
	logErr := c.RaceLog(ctx, "x", "a", false, func(forkbox.RaceLog) error { return nil })
	for _, err := range []error{startErr, listErr, getErr, followErr, cancelErr, applyErr, logErr, c.RemoveRace(ctx, "x", false)} {
		if forkbox.CodeOf(err) != forkbox.Unsupported {
			t.Error(err)
		}
	}
}

func TestRaceIsFollowedToItsEnd(t *testing.T) {
	races := newFakeRaces()
	races.events = []forkbox.RaceEvent{{Kind: forkbox.RaceOutput, Approach: "dep", Line: "<&>"}, {Kind: forkbox.RaceUsage, Approach: "dep", CPU: 12.5}}
	r := start(t, withRaces(races))
	var kinds []forkbox.RaceEventKind
	race, err := r.client.Race(t.Context(), someRace(), func(e forkbox.RaceEvent) error {
		if kinds = append(kinds, e.Kind); e.Kind == forkbox.RaceUsage {
			races.end()
		}
		return nil
	})
	want := []forkbox.RaceEventKind{forkbox.RaceBegins, forkbox.RaceOutput, forkbox.RaceUsage, forkbox.RaceEnds}
	if err != nil || race.Winner != "dep" || !reflect.DeepEqual(kinds, want) {
		t.Errorf("%+v %v %v", race, err, kinds)
	}
	if _, err := r.client.FollowRace(t.Context(), "nosuch", ignore); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("one that is not there: %v", err)
	}
	races.failure = forkbox.Errorf(forkbox.Internal, "follow race fix", "the disk is full")
	if _, err := r.client.FollowRace(t.Context(), "", ignore); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("a failure half-way: %v", err)
	}
}

// TestRaceOfWhoGivesUpIsCancelled: the context's end, and an error of the
// caller's own, end the race; who only follows leaves it alone.
func TestRaceOfWhoGivesUpIsCancelled(t *testing.T) {
	enough := errors.New("enough")
	for _, own := range []error{enough, context.Canceled} {
		races := newFakeRaces()
		r := start(t, withRaces(races))
		ctx, cancel := context.WithCancel(t.Context())
		race, err := r.client.Race(ctx, someRace(), func(forkbox.RaceEvent) error {
			if own == enough {
				return own
			}
			cancel()
			return nil
		})
		if !errors.Is(err, own) || race.State != forkbox.RaceCancelled {
			t.Errorf("%v: %+v %v", own, race, err)
		}
		cancel()
	}
	races := newFakeRaces()
	r := start(t, withRaces(races))
	ctx, cancel := context.WithCancel(t.Context())
	race, err := r.client.FollowRace(ctx, "fix", func(forkbox.RaceEvent) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || race.ID != "r1" || races.record().State != forkbox.RaceRunning {
		t.Errorf("%+v %v", race, err)
	}
	eventually(t, "it has no followers any more", func() bool { return races.followers() == 0 })
	if _, err := r.client.Race(ctx, someRace(), ignore); !errors.Is(err, context.Canceled) || len(races.started) > 0 {
		t.Errorf("one that was cancelled from the start: %v %+v", err, races.started)
	}
}

// TestRaceOutlivesItsDaemon: who follows hears how it ends from the next one.
func TestRaceOutlivesItsDaemon(t *testing.T) {
	races := newFakeRaces()
	r := start(t, withRaces(races))
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); <-ended })
	r.client.Redial = func(context.Context) error {
		os.Remove(r.socket)
		l, err := net.Listen("unix", r.socket)
		if err != nil {
			return err
		}
		next := New(Config{Engine: newFake(), Races: races})
		go func() { ended <- next.Serve(ctx, l) }()
		races.end()
		return nil
	}
	begun := 0
	race, err := r.client.Race(t.Context(), someRace(), func(e forkbox.RaceEvent) error {
		if e.Kind == forkbox.RaceBegins {
			if begun++; begun == 1 {
				r.cancel()
			}
		}
		return nil
	})
	if err != nil || race.State != forkbox.RaceFinished || begun != 2 || len(races.started) != 1 {
		t.Errorf("%+v %v, begun %d, started %d", race, err, begun, len(races.started))
	}
}

func TestRaceLogIsStreamed(t *testing.T) {
	races := newFakeRaces()
	races.log = []forkbox.RaceLog{
		{Part: "step: npm ci", LogRecord: forkbox.LogRecord{Stream: "stdout", Data: []byte("a\xff\n")}},
		{Part: "check: npm test", LogRecord: forkbox.LogRecord{Stream: "stderr", Data: []byte("b\n")}},
	}
	r := start(t, withRaces(races))
	var got []forkbox.RaceLog
	keep := func(piece forkbox.RaceLog) error { got = append(got, piece); return nil }
	if err := r.client.RaceLog(t.Context(), "fix", "a&b=c", false, keep); err != nil || !reflect.DeepEqual(got, races.log) || races.asked[0] != "a&b=c" {
		t.Errorf("%+v %v %q", got, err, races.asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := r.client.RaceLog(ctx, "fix", "dep", true, func(forkbox.RaceLog) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	races.failure = forkbox.Errorf(forkbox.NotFound, "read the transcript", "it is gone")
	if err := r.client.RaceLog(t.Context(), "fix", "dep", false, keep); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("half-way: %v", err)
	}
	if err := r.client.RaceLog(t.Context(), "nosuch", "dep", false, keep); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Error(err)
	}
}
