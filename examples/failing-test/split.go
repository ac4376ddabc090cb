// Package bill splits what a dinner cost.
package bill

// Split says what each of n people pays of a bill, in cents.
func Split(cents, n int) []int {
	shares := make([]int, n)
	for i := range shares {
		shares[i] = cents / n
	}
	return shares
}
