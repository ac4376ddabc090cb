//go:build !cgo

package linux

// Cgo says that this program was built with it: then no system call can be made
// in all threads at once, and the program needs a C library where it runs.
const Cgo = false
