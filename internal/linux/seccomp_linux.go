package linux

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// abi is a way to make system calls: its audit number, and what it calls the
// calls that a box may not make.
type abi struct {
	audit  uint32
	denied []uint32
}

// Offsets in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
)

// x32 marks the calls of amd64's x32 ABI: the same kernel functions under
// other numbers. Nothing in use needs it; denied whole.
const x32 = 0x40000000

// assemble makes the filter: denied calls fail with EPERM, everything else is
// allowed, and so are ABIs only if we know their numbers.
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
	tests := len(a.denied) + 1
	block = append(block, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipTrue: uint8(tests)})
	for i, number := range a.denied {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: uint8(tests - 1 - i)})
	}
	return append(block, allow, deny)
}
