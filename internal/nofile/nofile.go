// Package nofile knows the limit on open files that this process was started
// with: what it starts for others should have that one.
//
// The Go runtime raises the limit when package syscall is initialised, and does
// not tell what it was. Packages that import nothing are initialised in the order
// of their paths, and this one's is before that.
package nofile

var soft, hard uint64

func init() {
	var limit [2]uint64
	if getrlimit(&limit) == 0 {
		soft, hard = limit[0], limit[1]
	}
}

// Limit is what it was. ok is false where that is not known.
func Limit() (softLimit, hardLimit uint64, ok bool) { return soft, hard, hard > 0 }
