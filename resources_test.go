package forkbox

import (
	"slices"
	"strings"
	"testing"
)

// TestResources: each row of the table says all that is asked of it.
func TestResources(t *testing.T) {
	for _, i := range resources {
		v, err := ParseLimit(i.Name, i.Example)
		if err != nil || FormatLimit(i.Name, v) == "" {
			t.Errorf("%s: its example: %v", i.Name, err)
		}
		if i.Unit.Word() == "" || i.Help == "" || strings.ContainsAny(string(i.Name), " _=") {
			t.Errorf("%s: it has no whole flag", i.Name)
		}
		if !slices.Contains([]LimitScope{OfBox, OfBoth, OfEachExec}, i.Scope) {
			t.Errorf("%s: whose is it?", i.Name)
		}
		if !slices.Contains([]Holder{HeldByGroup, HeldByDisk, HeldByProcess, HeldByLog, HeldByGate, HeldByClock}, i.Holder) {
			t.Errorf("%s: what holds it?", i.Name)
		}
		if i.Event != "" && i.Cause == "" {
			t.Errorf("%s: an event without a cause", i.Name)
		}
		if i.Name.Info() != i {
			t.Errorf("%s is there twice", i.Name)
		}
	}
}

// TestResourceBehind: the first of those that share a cause speaks for it.
func TestResourceBehind(t *testing.T) {
	for cause, want := range map[Cause]Resource{CauseOOM: Memory, CausePids: Pids, CauseDisk: Disk, CauseTimeout: Timeout, CauseTTL: TTL, CauseIdle: Idle,
		CauseExited: "", CauseSignalled: "", CauseStopped: "", CauseShutdown: "", CauseLost: "", CauseNotRun: "", "": ""} {
		if got, met := ResourceBehind(cause); got != want || met != (want != "") {
			t.Errorf("%q: %q, %t", cause, got, met)
		}
	}
}
