//go:build !linux || (!amd64 && !arm64)

package nofile

func getrlimit(*[2]uint64) uintptr { return 1 }
