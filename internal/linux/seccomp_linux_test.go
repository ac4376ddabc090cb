package linux

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retDeny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

// verdict interprets the filter. The interpreter reads big endian where the
// kernel reads its own order, so the data is given to it that way.
func verdict(t *testing.T, arch, number uint32, args ...uint32) uint32 {
	t.Helper()
	filter, err := assemble()
	must(t, err)
	raw := make([]bpf.RawInstruction, len(filter))
	for i, f := range filter {
		raw[i] = bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	program, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("the filter has unknown instructions")
	}
	vm, err := bpf.NewVM(program)
	must(t, err)
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], number)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[offArg0+8*i:], arg)
	}
	result, err := vm.Run(data)
	must(t, err)
	return uint32(result)
}

func TestSeccompVerdicts(t *testing.T) {
	t.Parallel()
	own := abis[0].audit
	for _, number := range abis[0].denied {
		if got := verdict(t, own, number); got != retDeny {
			t.Errorf("call %d: %#x", number, got)
		}
		if got := verdict(t, own, number|x32); got != retDeny {
			t.Errorf("call %d of x32: %#x", number, got)
		}
	}
	for _, number := range []uint32{unix.SYS_READ, unix.SYS_EXECVE, unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_CLONE3, unix.SYS_PTRACE, 9999} {
		if got := verdict(t, own, number); got != retAllow {
			t.Errorf("call %d: %#x", number, got)
		}
		if got := verdict(t, own, number|x32); got != retDeny {
			t.Errorf("call %d of x32: %#x", number, got)
		}
	}
	if got := verdict(t, 0xdeadbeef, unix.SYS_READ); got != retDeny {
		t.Errorf("an unknown ABI: %#x", got)
	}
}

func TestSeccompOtherABIs(t *testing.T) {
	t.Parallel()
	for _, abi := range abis[1:] {
		for _, number := range abi.denied {
			if got := verdict(t, abi.audit, number); got != retDeny {
				t.Errorf("call %d of %#x: %#x", number, abi.audit, got)
			}
		}
		if got := verdict(t, abi.audit, 4); got != retAllow { // write, on i386
			t.Errorf("write of %#x: %#x", abi.audit, got)
		}
	}
}

// TestKeyringsAreMissing: who finds none goes on without, who is refused does not.
func TestKeyringsAreMissing(t *testing.T) {
	t.Parallel()
	const none = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	for _, abi := range abis {
		if len(abi.missing) != 3 {
			t.Errorf("%d calls of %#x", len(abi.missing), abi.audit)
		}
		for _, number := range abi.missing {
			if got := verdict(t, abi.audit, number); got != none {
				t.Errorf("call %d of %#x: %#x", number, abi.audit, got)
			}
		}
	}
}

// TestSeccompJumps: eight bits hold a jump. One that is out of range, because the
// list has become longer, would be cut off silently.
func TestSeccompJumps(t *testing.T) {
	t.Parallel()
	filter, err := assemble()
	must(t, err)
	for i, f := range filter {
		if f.Code&7 != unix.BPF_JMP {
			continue
		}
		for _, jump := range []uint8{f.Jt, f.Jf} {
			if target := i + 1 + int(jump); target >= len(filter) {
				t.Errorf("instruction %d jumps to %d of %d", i, target, len(filter))
			}
		}
	}
	for _, abi := range abis {
		if n := len(abi.block(bpf.RetConstant{}, bpf.RetConstant{})); n > 255 {
			t.Errorf("the block of %#x has %d instructions", abi.audit, n)
		}
	}
	if last := filter[len(filter)-1]; last.Code&7 != unix.BPF_RET || last.K != retDeny {
		t.Errorf("the filter ends with %+v", last)
	}
}

// TestStrangeSockets: a box has no sockets that know no network namespaces.
func TestStrangeSockets(t *testing.T) {
	t.Parallel()
	const none = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	for _, abi := range abis {
		for _, family := range strangers {
			if got := verdict(t, abi.audit, abi.socket, family); got != none {
				t.Errorf("family %d: %#x", family, got)
			}
			if got := verdict(t, abi.audit, unix.SYS_WRITE, family); got != retAllow && abi.socket == unix.SYS_SOCKET {
				t.Errorf("another call with %d: %#x", family, got)
			}
		}
		for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_ALG} {
			if got := verdict(t, abi.audit, abi.socket, family); got != retAllow {
				t.Errorf("family %d: %#x", family, got)
			}
		}
	}
}
