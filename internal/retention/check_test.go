package retention

import (
	"testing"

	"github.com/forkbox/forkbox"
)

var senseless = []forkbox.GCSpec{
	{OlderThan: -1}, {IdleFor: -1}, {MaxSize: -1}, {IdleFor: -day, OlderThan: day}, {MaxSize: -1, IdleFor: day, Unreviewed: true},
}

func TestCheck(t *testing.T) {
	for _, spec := range senseless {
		if err := Check(spec); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	for _, spec := range []forkbox.GCSpec{{}, {DryRun: true}, {Unreviewed: true}, {OlderThan: 1}, {IdleFor: day, MaxSize: 1}} {
		if err := Check(spec); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// TestSenselessRequestsRemoveNothing also where Check was not called.
func TestSenselessRequestsRemoveNothing(t *testing.T) {
	for _, spec := range senseless {
		if remove, keep := Decide(now, []Facts{idle(Applied, 9*day)}, spec, Default(), 1<<40); len(remove)+len(keep) > 0 {
			t.Errorf("%+v: %v, %v", spec, remove, keep)
		}
	}
}
