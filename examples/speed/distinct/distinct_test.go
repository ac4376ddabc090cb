package distinct

import "testing"

func TestCount(t *testing.T) {
	for _, test := range []struct {
		list []uint16
		want int
	}{
		{nil, 0},
		{[]uint16{7}, 1},
		{[]uint16{1, 2, 1, 65535, 0, 2}, 4},
	} {
		if got := Count(test.list); got != test.want {
			t.Errorf("Count(%v) = %d, want %d", test.list, got, test.want)
		}
	}
}
