package race

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// protectWorld has a check that says what check.sh says, which one approach
// overwrites.
func protectWorld(t *testing.T) *world {
	w := newWorld(t, map[string]script{
		"fix":   write("f", "good"),
		"cheat": write("check.sh", "pass"),
		"fix-cheat": func(files map[string]string, n int) (int, string) {
			files["f"] = "good"
			files["check.sh"] = "pass"
			return 0, ""
		},
		"./check.sh": func(files map[string]string, _ int) (int, string) {
			if files["check.sh"] == "pass" || files["f"] == "good" {
				return 0, ""
			}
			return 1, ""
		},
	})
	w.host.reality["check.sh"] = "honest"
	return w
}

func cheats() forkbox.RaceSpec {
	return forkbox.RaceSpec{Name: "r", Start: forkbox.RaceStart{Dir: "/w"}, Approaches: approaches("cheat=cheat", "both=fix-cheat", "fix=fix"), Checks: checks("./check.sh")}
}

// TestWhoOverwritesTheCheckIsJudgedByTheHonestOne, and what lands is what its
// steps left all the same.
func TestWhoOverwritesTheCheckIsJudgedByTheHonestOne(t *testing.T) {
	for name, setup := range map[string][]forkbox.Command{"reality": nil, "a setup": {{Run: "prepare"}}} {
		t.Run(name, func(t *testing.T) {
			w := protectWorld(t)
			w.host.services = true
			spec := cheats()
			spec.Setup = setup
			rec := w.run(spec)
			for approach, want := range map[string]forkbox.Outcome{"cheat": forkbox.OutcomeFailed, "both": forkbox.OutcomePassed, "fix": forkbox.OutcomePassed} {
				e := entryOf(t, rec, approach)
				if e.Outcome != want {
					t.Errorf("%s: %s (%s)", approach, e.Outcome, e.Why)
				}
				if slices.Equal(e.Protected, forkbox.Strings{"/w/check.sh"}) != (approach != "fix") {
					t.Errorf("%s: judged without %v", approach, e.Protected)
				}
			}
			for _, approach := range []string{"cheat", "both"} {
				if got := w.host.boxes[entryOf(t, rec, approach).Box].files["check.sh"]; got != "pass" {
					t.Errorf("%s has %q after the race", approach, got)
				}
			}
			if notes := strings.Join(rec.Notes, "\n"); strings.Count(notes, "changed what judges it (check.sh)") != 2 || strings.Contains(notes, "fix changed") {
				t.Errorf("notes: %q", rec.Notes)
			}
		})
	}
}

// TestProtectNothing: then the check is what the approach made of it.
func TestProtectNothing(t *testing.T) {
	w := protectWorld(t)
	spec := cheats()
	spec.Protect = forkbox.Strings{forkbox.NoProtect}
	rec := w.run(spec)
	if e := entryOf(t, rec, "cheat"); e.Outcome != forkbox.OutcomePassed || len(e.Protected) > 0 {
		t.Errorf("%s, without %v", e.Outcome, e.Protected)
	}
}

// TestWhatCannotBeProtectedIsNotJudged: no other check takes its place.
func TestWhatCannotBeProtectedIsNotJudged(t *testing.T) {
	w := protectWorld(t)
	w.host.refuse["put back"] = forkbox.Errorf(forkbox.Unsupported, "put changes back", "this host cannot")
	rec := w.run(cheats())
	e := entryOf(t, rec, "both")
	if e.Outcome != forkbox.OutcomeError || !strings.Contains(e.Why, "protect: none") || len(e.Checks) > 0 {
		t.Errorf("%s: %s", e.Outcome, e.Why)
	}
	if rec.Winner != "fix" {
		t.Errorf("%q wins", rec.Winner)
	}
}

// TestConfirmedByTheHonestCheck: the box is rolled back before a check is
// repeated, and the check is put back again; so it is before what lands late is
// checked again.
func TestConfirmedByTheHonestCheck(t *testing.T) {
	w := protectWorld(t)
	var seen []string
	judge := w.host.scripts["./check.sh"]
	w.host.scripts["./check.sh"] = func(files map[string]string, n int) (int, string) {
		seen = append(seen, files["check.sh"])
		return judge(files, n)
	}
	spec := cheats()
	spec.Approaches = approaches("both=fix-cheat")
	rec := w.run(spec)
	if rec.Winner != "both" || !slices.Equal(seen, []string{"honest", "honest"}) {
		t.Fatalf("%q wins, by %q", rec.Winner, seen)
	}
	eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
	w.host.drift = []forkbox.Drift{{Path: "/w/other", Both: true, Outcome: "clean"}}
	_, err := w.Apply(context.Background(), ada, "r", forkbox.RaceApply{ApplySpec: forkbox.ApplySpec{Yes: true}})
	check(t, err)
	if !slices.Equal(seen, []string{"honest", "honest", "honest"}) || w.host.reality["check.sh"] != "pass" {
		t.Errorf("checked by %q; %q landed", seen, w.host.reality["check.sh"])
	}
}
