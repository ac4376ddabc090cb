package gate

import (
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestFewLookupsKeepTheirNames: only what looks like data in names is told
// together.
func TestFewLookupsKeepTheirNames(t *testing.T) {
	for _, c := range []struct{ names, records int }{{2, 2}, {lookupFold, lookupFold}, {lookupFold + 1, 1}, {500, 1}} {
		var recorded []forkbox.Conn
		l := newLog(&Config{NextID: func() int64 { return 1 }, Record: func(c forkbox.Conn) { recorded = append(recorded, c) }})
		for range 2 { // A and AAAA
			for i := range c.names {
				l.noteLookup(forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "dns", Host: fmt.Sprintf("n%d.some.example", i)}})
			}
		}
		l.noteLookup(forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "dns", Host: "other.example"}})
		l.close()
		if len(recorded) != c.records+1 {
			t.Errorf("%d names below a domain are %d records", c.names, len(recorded)-1)
		}
		wantLookups(t, recorded, c.names, c.records)
	}
}

// wantLookups checks that each is told once, with how often it was asked for.
func wantLookups(t *testing.T, recorded []forkbox.Conn, names, records int) {
	t.Helper()
	times := map[string]int{}
	for i, c := range recorded {
		times[c.Target.Host] += c.Times
		if c.State != forkbox.ConnRefused || i > 0 && c.Time.Before(recorded[i-1].Time) {
			t.Errorf("record %d is %+v", i, c)
		}
	}
	for i := range records {
		if got := times[fmt.Sprintf("n%d.some.example", i)]; got != 2*names/records {
			t.Errorf("name %d was asked for %d times", i, got)
		}
	}
	if times["other.example"] != 1 || len(times) != records+1 {
		t.Errorf("the names are %v", times)
	}
}
