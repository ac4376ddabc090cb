// Package ledgertest is the suite that every ledger passes.
package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// Run tests the ledgers that open makes. Each must be empty, and is closed by
// the suite.
func Run(t *testing.T, open func(t *testing.T) forkbox.Ledger) {
	for _, c := range []struct {
		name string
		test func(*testing.T, forkbox.Ledger)
	}{
		{"BoxIsKeptWhole", boxIsKeptWhole},
		{"BoxUpdateReplaces", boxUpdateReplaces},
		{"BoxNameIsUniquePerOwner", boxNameIsUniquePerOwner},
		{"BoxDeleteTakesExecsAlong", boxDeleteTakesExecsAlong},
		{"BoxesByOwnerAndState", boxesByOwnerAndState},
		{"FindBoxes", findBoxes},
		{"ExecIDsCount", execIDsCount},
		{"LastExecs", lastExecs},
		{"ExecIsKeptWhole", execIsKeptWhole},
		{"ReceiptIsKeptWhole", receiptIsKeptWhole},
		{"ReceiptsByOwnerStateAndBox", receiptsByOwnerStateAndBox},
		{"ReceiptOutlivesItsBox", receiptOutlivesItsBox},
		{"SnapshotIsKeptWhole", snapshotIsKeptWhole},
		{"SnapshotComesWithItsBox", snapshotComesWithItsBox},
		{"SnapshotsGoWithTheirBox", snapshotsGoWithTheirBox},
		{"TemplateIsKeptWhole", templateIsKeptWhole},
		{"StacksOfEverything", stacksOfEverything},
		{"LayersAreKnownUntilForgotten", layersAreKnown},
		{"EventIsKeptWhole", eventIsKeptWhole},
		{"EventsByOwnerBoxAndID", eventsByOwnerBoxAndID},
		{"EventsOutliveTheirBox", eventsOutliveTheirBox},
		{"EventsArePruned", eventsArePruned},
		{"EventsComeWithTheirChange", eventsComeWithTheirChange},
		{"ConnIsKeptWhole", connIsKeptWhole},
		{"ConnsByOwnerBoxAndID", connsByOwnerBoxAndID},
		{"ConnsAreLost", connsAreLost},
		{"ConnsOutliveTheirBox", connsOutliveTheirBox},
		{"ConnsArePruned", connsArePruned},
		{"ConnsOfOthersStay", connsOfOthersStay},
		{"OldConnsArePruned", oldConnsArePruned},
		{"RaceIsKeptWhole", raceIsKeptWhole},
		{"RaceNameIsUniquePerOwner", raceNameIsUniquePerOwner},
		{"EntriesAreSavedTogether", entriesAreSavedTogether},
		{"RacesByOwnerAndState", racesByOwnerAndState},
		{"FindRaces", findRaces},
		{"TokenIsKeptWhole", tokenIsKeptWhole},
		{"CallIsKeptWhole", callIsKeptWhole},
		{"CallsAreSelected", callsAreSelected},
		{"CallsArePruned", callsArePruned},
		{"BoxesAreCounted", boxesAreCounted},
		{"CheckChangesNothing", checkChangesNothing},
		{"WritesAreTimed", writesAreTimed},
		{"KeyedIsKeptWhole", keyedIsKeptWhole},
		{"KeyedArePruned", keyedArePruned},
		{"OperationIsKeptWhole", operationIsKeptWhole},
		{"OperationsArePruned", operationsArePruned},
		{"StillIsKeptWhole", stillIsKeptWhole},
		{"EventsNameTheirRequest", eventsNameTheirRequest},
		{"NotFound", notFound},
		{"ManyAtOnce", manyAtOnce},
		{"CancelledCallerLeavesNoDoubt", cancelledCaller},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t)
			t.Cleanup(func() { noError(t, l.Close()) })
			c.test(t, l)
		})
	}
}

// Box is a box with every field set, so that a ledger that forgets one fails.
func Box(id, name string, uid int) forkbox.Box {
	made := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return forkbox.Box{
		ID: id, Name: name, State: forkbox.Creating, Provider: "native",
		Base:  forkbox.Base{Kind: "dir", Fence: made, Root: "/srv/root", Name: "root"},
		Owner: forkbox.Owner{UID: uid, GID: uid, Groups: []int{4, uid}, Name: "ada", Home: "/home/ada"},
		Net:   forkbox.NetPolicy, Network: network(), Dir: "/src/a b", Created: made,
		Env:          []string{"PATH=/bin", "ODD=a\nb \"c\" é", "RAW=\xff\x00"},
		AllowSecrets: []string{"GITHUB_TOKEN"}, Pinned: true, Note: "a note",
		Stale: &forkbox.Staleness{Receipt: "r1", Box: "other", Path: "/a", Lost: true}, Unresolved: []string{"/b"},
		Layers: []string{"l2", "l1"}, Store: "overlay", Parent: "s1", ParentBox: "bbbbbbbbbbbb", Kept: true,
		Race: "r1", Approach: "dep",
		At: "s2", Lineage: []forkbox.Ancestor{{Box: "bbbbbbbbbbbb", Until: made}}, Discarded: true,
		Policy:     forkbox.Policy{forkbox.Memory: {Value: 1 << 30, From: "box", How: forkbox.Watched, Why: "no kernel"}},
		BestEffort: true, Priority: forkbox.LowPriority, Asked: wish(), Paused: "disk limit",
		Ends:  &forkbox.Moment{Time: made.Add(time.Hour), Boot: "b1", Since: time.Minute},
		Death: &forkbox.Exit{Code: 137, Cause: forkbox.CauseOOM, Limit: 1 << 30, Peak: 1 << 30},
		Bookkeeping: forkbox.Bookkeeping{
			Rebase: "r2", Syncing: &forkbox.Syncing{Landing: "sync-b", Fence: made}, Saving: "l3", Shelved: 4, Warned: true, Boot: "b1", Ran: true,
		},
	}
}

func wish() *forkbox.Wish {
	wait := int64(time.Second)
	return &forkbox.Wish{
		Limits: forkbox.Limits{forkbox.CPUs: 1500, forkbox.Swap: 0, forkbox.Pids: forkbox.Unlimited}, Wait: &wait,
		Project: forkbox.Limits{forkbox.TTL: int64(time.Hour)}, ProjectFile: "/src/forkbox.yaml",
		BestEffort: true, Priority: forkbox.LowPriority, Ticket: "t",
	}
}

func network() forkbox.Network {
	asked := forkbox.NetWish{
		Preset: forkbox.PresetLocked, Rules: []string{"allow a.example.com:443", "deny *"}, HostPorts: []int{5432},
		Secrets: []string{"API_KEY"}, Terminate: []string{"t.example.com"}, Pinned: []string{"p.example.com"},
		ProjectFile: "/src/forkbox.yaml", Found: []forkbox.NetRule{{Rule: "allow r.example.com", From: "preset balanced"}},
	}
	project := asked
	asked.Project = &project
	return forkbox.Network{
		Preset: forkbox.PresetLocked, Rules: []forkbox.NetRule{{Rule: "allow a.example.com:443", From: "box"}},
		HostPorts: []int{5432}, Team: "blue", Secrets: map[string]string{"API_KEY": "forkbox-secret-1"},
		Terminate: []string{"t.example.com"}, Pinned: []string{"p.example.com"}, CA: "-----BEGIN",
		Ports: []forkbox.Port{{Box: 3000, Host: 8080}}, Asked: &asked,
	}
}

func exec(box string, argv ...string) forkbox.Exec {
	return forkbox.Exec{
		Box: box, Argv: argv, Dir: "/", User: "ada", TTY: true,
		Started:  time.Date(2026, 1, 2, 3, 4, 6, 1, time.UTC),
		Policy:   forkbox.Policy{forkbox.Timeout: {Value: 7, From: "exec", How: forkbox.Enforced}},
		Detached: true, Label: "a1/step/0",
	}
}

func add(t *testing.T, l forkbox.Ledger, boxes ...forkbox.Box) {
	t.Helper()
	for _, b := range boxes {
		noError(t, l.AddBox(context.Background(), b))
	}
}

func ids(boxes []forkbox.Box) (ids []string) {
	for _, b := range boxes {
		ids = append(ids, b.ID)
	}
	return ids
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hasCode(t *testing.T, err error, code forkbox.Code) {
	t.Helper()
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want one with code %s", err, code)
	}
}

// equal compares what can be read of both: pointers by what they point to, and
// boxes with their bookkeeping.
func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if g, w := text(t, got), text(t, want); g != w {
		t.Fatalf("got  %s\nwant %s", g, w)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	if box, ok := value.(forkbox.Box); ok {
		value = box.Stored()
	}
	data, err := json.Marshal(value)
	noError(t, err)
	return string(data)
}

func sorted(s []string) []string { slices.Sort(s); return s }
