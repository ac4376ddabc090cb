package linux

import "golang.org/x/sys/unix"

// abis of arm64: 32-bit programs are refused, as the numbers of their calls are
// not written down here.
var abis = []abi{{unix.AUDIT_ARCH_AARCH64, denied, missing, unix.SYS_SOCKET}}
