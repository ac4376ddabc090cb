package linux

import "golang.org/x/sys/unix"

// abis of arm64: 32-bit programs are refused, until someone needs them enough
// to write down their numbers.
var abis = []abi{{unix.AUDIT_ARCH_AARCH64, denied, missing, unix.SYS_SOCKET}}
