//go:build linux && (amd64 || arm64)

package nofile

// getrlimit asks the kernel. It is no function of package syscall, which would
// have to be initialised before us.
//
//go:noescape
func getrlimit(limit *[2]uint64) uintptr
