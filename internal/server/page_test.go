package server

import (
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestACursorHoldsItsPlace, whichever way a list goes, also when what it names is gone
// and little is left.
func TestACursorHoldsItsPlace(t *testing.T) {
	key := func(n int) (time.Time, string) { return time.Unix(int64(n), 0), strconv.Itoa(n) }
	for _, list := range [][]int{{1, 2}, {2, 1}, {1, 2, 3}, {3, 2, 1}} {
		got, next, err := page(httptest.NewRequest("GET", "/?limit=1", nil), list, key)
		if err != nil || !slices.Equal(got, list[:1]) {
			t.Fatalf("%v %v", got, err)
		}
		for name, now := range map[string][]int{"as it was": list, "without what it names": list[1:]} {
			rest, _, err := page(httptest.NewRequest("GET", "/?cursor="+next, nil), now, key)
			if err != nil || !slices.Equal(rest, list[1:]) {
				t.Errorf("%v, %s: %v %v", list, name, rest, err)
			}
		}
	}
}
