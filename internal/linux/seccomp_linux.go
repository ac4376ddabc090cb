package linux

import (
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// abi is a way to make system calls: its audit number, and what it calls the
// calls that a box may not make.
type abi struct {
	audit   uint32
	denied  []uint32
	missing []uint32
	socket  uint32
}

// Offsets in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16 // its lower half: every ABI here is little endian
)

// x32 marks the calls of amd64's x32 ABI: the same kernel functions under
// other numbers. Nothing in use needs it; denied whole.
const x32 = 0x40000000

// strangers are families of sockets that know no network namespaces, or speak
// to what is beside the machine: a box could walk out through them, past its
// gate. VSOCK reaches the hypervisor and whatever else runs on it.
var strangers = []uint32{
	unix.AF_VSOCK, unix.AF_BLUETOOTH, unix.AF_NFC, unix.AF_QIPCRTR, unix.AF_TIPC, unix.AF_RDS, unix.AF_IB, unix.AF_RXRPC,
	unix.AF_SMC, unix.AF_KCM, unix.AF_CAN, unix.AF_PPPOX, unix.AF_ATMPVC, unix.AF_ATMSVC, unix.AF_ISDN, unix.AF_IEEE802154,
	unix.AF_PHONET, unix.AF_CAIF, unix.AF_MCTP, unix.AF_IUCV, unix.AF_LLC, unix.AF_X25, unix.AF_AX25, unix.AF_NETROM,
	unix.AF_ROSE, unix.AF_APPLETALK, unix.AF_IPX, unix.AF_DECnet, unix.AF_ECONET,
}

// assemble makes the filter: denied calls fail with EPERM, missing ones with
// ENOSYS, sockets of strange
// families as if the kernel had none, everything else is allowed, and so are
// ABIs only if we know their numbers.
func assemble() ([]unix.SockFilter, error) {
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	deny := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: offArch, Size: 4}}
	for _, abi := range abis {
		block := abi.block(allow, deny)
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: abi.audit, SkipFalse: uint8(len(block))})
		program = append(program, block...)
	}
	raw, err := bpf.Assemble(append(program, deny))
	if err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}

func (a abi) block(allow, deny bpf.Instruction) []bpf.Instruction {
	block := []bpf.Instruction{bpf.LoadAbsolute{Off: offNumber, Size: 4}}
	family := a.family()
	tests := len(a.denied) + len(a.missing) + 1
	// What denies jumps over the rest of the tests, the families and "allow".
	over := func(done int) uint8 { return uint8(tests - 1 - done + len(family) + 1) }
	block = append(block, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipTrue: over(0)})
	for i, number := range a.denied {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: over(i + 1)})
	}
	for i, number := range a.missing { // two further: over "deny" and what strangers get
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: over(len(a.denied)+i+1) + 2})
	}
	block = append(block, family...)
	fails := func(errno syscall.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	return append(block, allow, deny, fails(unix.EAFNOSUPPORT), fails(unix.ENOSYS))
}

// family looks at what family a socket is to be of. What is not allowed jumps
// over "allow" and "deny".
func (a abi) family() []bpf.Instruction {
	tests := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.socket, SkipFalse: uint8(1 + len(strangers))},
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
	}
	for i, family := range strangers {
		tests = append(tests, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: uint8(len(strangers) - 1 - i + 2)})
	}
	return tests
}
