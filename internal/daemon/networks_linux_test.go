package daemon

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestOwnAddressesAreNeverForgotten: not even while they cannot be asked for.
func TestOwnAddressesAreNeverForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		answer, failure := []netip.Addr{here}, error(nil)
		own, err := remembered(addressesAge, func() ([]netip.Addr, error) { return answer, failure })
		if err != nil {
			t.Fatal(err)
		}
		answer, failure = nil, errors.New("out of files")
		time.Sleep(2 * addressesAge)
		if got := own(); !slices.Equal(got, []netip.Addr{here}) {
			t.Errorf("they are %v", got)
		}
		answer, failure = []netip.Addr{there}, nil
		if got := own(); !slices.Equal(got, []netip.Addr{there}) {
			t.Errorf("they are %v", got)
		}
	})
}
