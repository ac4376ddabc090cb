package bill

import (
	"slices"
	"testing"
)

// The waiter wants all of it. This test fails: of 10.00 for three, one cent is
// missing.
func TestSharesAddUp(t *testing.T) {
	sum := 0
	for _, share := range Split(1000, 3) {
		sum += share
	}
	if sum != 1000 {
		t.Errorf("of 1000 cents, %d are paid", sum)
	}
}

func TestSharesAreFair(t *testing.T) {
	shares := Split(1105, 7)
	if low, high := slices.Min(shares), slices.Max(shares); high-low > 1 {
		t.Errorf("one pays %d cents and another %d", low, high)
	}
}
