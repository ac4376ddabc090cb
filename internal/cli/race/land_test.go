package race

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/change"
	"github.com/spf13/cobra"
)

func unconfirmed(hash string) *forkbox.Error {
	e := forkbox.Errorf(forkbox.Unconfirmed, "apply race", "dep has not passed: failed (npm test)")
	e.Hash = hash
	return e
}

// TestRaceQuestion: what has not passed, and what deserves a second look, are
// asked for each by itself, and once.
func TestRaceQuestion(t *testing.T) {
	race := someResult()
	race.Entries[2].Outcome = forkbox.OutcomeFailed
	bad := func(change func(*forkbox.RaceApply)) forkbox.RaceApply {
		apply := forkbox.RaceApply{Approach: "revert"}
		change(&apply)
		return apply
	}
	none := func(*forkbox.RaceApply) {}
	for name, c := range map[string]struct {
		err   error
		apply forkbox.RaceApply
		want  string
	}{
		"not passed":              {unconfirmed(""), bad(none), "unjudged"},
		"said yes to that":        {unconfirmed(""), bad(func(a *forkbox.RaceApply) { a.Unjudged = true }), ""},
		"a yes to a second look":  {unconfirmed(""), bad(func(a *forkbox.RaceApply) { a.Yes = true }), "unjudged"},
		"then a second look":      {unconfirmed("h1"), bad(func(a *forkbox.RaceApply) { a.Unjudged = true }), "look"},
		"looked":                  {unconfirmed("h1"), bad(func(a *forkbox.RaceApply) { a.Unjudged, a.Yes = true, true }), ""},
		"the winner":              {unconfirmed("h1"), forkbox.RaceApply{}, "look"},
		"its box was changed":     {unconfirmed(""), forkbox.RaceApply{}, ""},
		"flaky, box was changed":  {unconfirmed(""), forkbox.RaceApply{Approach: "dep\x1b[2J"}, ""},
		"another error":           {forkbox.Errorf(forkbox.Conflict, "x", "y"), bad(none), ""},
		"one that is not of ours": {errors.New("x"), bad(none), ""},
		"none":                    {nil, bad(none), ""},
	} {
		got := ""
		if q := raceQuestion(c.err, race, c.apply); q != nil {
			got = map[bool]string{true: "unjudged", false: "look"}[q.unjudged]
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestRaceQuestionIsAsked: it says what is wrong, and a yes is to that alone.
func TestRaceQuestionIsAsked(t *testing.T) {
	for answer, agreed := range map[string]bool{"y\n": true, "\n": false, "": false} {
		for _, unjudged := range []bool{true, false} {
			var said bytes.Buffer
			l := &change.Lander{App: app.New("", nil, nil, &said)}
			l.Stdin = bufio.NewReader(strings.NewReader(answer))
			q := &landQuestion{unconfirmed("h1").About("/w/hook", "a git hook"), unjudged}
			var apply forkbox.RaceApply
			if got := q.ask(l, &apply); got != agreed || apply.Unjudged != (agreed && unjudged) || apply.Yes != (agreed && !unjudged) {
				t.Errorf("%q: %v %+v", answer, got, apply)
			}
			if want := map[bool]string{true: "dep has not passed: failed (npm test)", false: "/w/hook: a git hook"}[unjudged]; !strings.Contains(said.String(), want) {
				t.Errorf("%q does not say %q", said.String(), want)
			}
			if !unjudged && apply.Reviewed != "h1" || unjudged && apply.Reviewed != "" {
				t.Errorf("reviewed %q", apply.Reviewed)
			}
		}
	}
}

// TestRaceApplyFlags are those of apply, but for a choice that a race cannot
// keep.
func TestRaceApplyFlags(t *testing.T) {
	ours, theirs := raceApplyVerb(new(app.App)), change.ApplyVerb(new(app.App))
	for _, name := range []string{"all", "hunks", "interactive", "dry-run", "message", "commit", "reviewed", "yes"} {
		if ours.Flags().Lookup(name) == nil || theirs.Flags().Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	if ours.Flags().Lookup("conflict") != nil || ours.Flags().Lookup("unjudged") == nil || ours.Flags().ShorthandLookup("y") == nil {
		t.Error("race apply has --conflict, or no --unjudged or -y")
	}
	if err := ours.ParseFlags([]string{"-i", "--hunks", "a:1"}); err != nil || ours.ValidateFlagGroups() == nil {
		t.Errorf("-i beside --hunks: %v", err)
	}
}

func TestRaceConflictAdvice(t *testing.T) {
	err := adviseRaceConflict(forkbox.Errorf(forkbox.Conflict, "apply race", "x").About("/w/a", "both changed it").Hint("or decide: --conflict theirs"), "fix-dep")
	var e *forkbox.Error
	if !errors.As(err, &e) || !strings.Contains(strings.Join(e.Hints, "\n"), "forkbox apply --conflict=theirs fix-dep") || slices.Contains(e.Hints, "or decide: --conflict theirs") {
		t.Errorf("%+v", e)
	}
}

// TestDriftIsTold in a dry run.
func TestDriftIsTold(t *testing.T) {
	for _, drifted := range []bool{true, false} {
		var out, said bytes.Buffer
		l := &raceLander{Lander: change.Lander{App: app.New("", nil, &out, &said)}}
		err := l.show(forkbox.RaceLanding{Approach: "a", Drifted: drifted}, forkbox.ApplySpec{DryRun: true})
		if told := strings.Contains(said.String(), "reality has changed since"); err != nil || told != drifted {
			t.Errorf("drifted %v: %q %v", drifted, said.String(), err)
		}
	}
}

// TestEmptyRace: an unset variable does not change the newest race.
func TestEmptyRace(t *testing.T) {
	a := app.New("", nil, new(bytes.Buffer), new(bytes.Buffer))
	for name, verb := range map[string]*cobra.Command{"apply": raceApplyVerb(a), "rerun": raceRerunVerb(a), "cancel": raceCancelVerb(a)} {
		verb.SetContext(t.Context())
		if err := verb.RunE(verb, []string{""}); forkbox.CodeOf(err) != forkbox.Invalid || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRaceLost: where no daemon was asked, no race can have begun.
func TestRaceLost(t *testing.T) {
	dial := forkbox.Errorf(forkbox.Unavailable, "start a race", "x: %w", &net.OpError{Op: "dial", Err: errors.New("not a directory")})
	home := func() error { return forkbox.Errorf(forkbox.Unavailable, "make the home of forkbox", "x") }
	read := forkbox.Errorf(forkbox.Unavailable, "start a race", "x: %w", &net.OpError{Op: "read", Err: errors.New("reset")})
	for _, c := range []struct {
		race string
		err  error
		told bool
	}{{"", dial, false}, {"", home(), false}, {"r1", home(), true}, {"", read, true}} {
		var e *forkbox.Error
		if !errors.As(raceLost(forkbox.Race{ID: c.race}, c.err), &e) || (len(e.Hints) > 0) != c.told {
			t.Errorf("%v: %q", c.err, e.Hints)
		}
	}
}
