package linux

import "golang.org/x/sys/unix"

// abis of amd64: its own, and that of 32-bit programs with its own numbers.
var abis = []abi{
	{unix.AUDIT_ARCH_X86_64, append([]uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB}, denied...), missing, unix.SYS_SOCKET},
	{unix.AUDIT_ARCH_I386, []uint32{
		51,                              // acct
		357,                             // bpf
		264, 79, 343, 124, 404, 405, 25, // clock_settime, settimeofday, clock_adjtime, adjtimex, their 64-bit forms, stime
		129, 350, 128, // delete_module, finit_module, init_module
		283,      // kexec_load
		342,      // open_by_handle_at
		131, 443, // quotactl, quotactl_fd
		88,      // reboot
		115, 87, // swapoff, swapon
		103,          // syslog
		374,          // userfaultfd
		110, 101, 86, // iopl, ioperm, uselib
		425, // io_uring_setup
		102, // socketcall: what family of socket is meant is out of a filter's sight
	}, []uint32{286, 287, 288}, 359}, // add_key, request_key, keyctl
}
