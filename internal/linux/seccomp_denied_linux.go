package linux

import "golang.org/x/sys/unix"

// denied are the calls that change the machine rather than the box, or reach
// into parts of the kernel that know no namespaces. Most of them the user
// namespace refuses already: the filter is there for the day when one of those
// checks is missing.
var denied = []uint32{
	unix.SYS_ACCT,
	unix.SYS_BPF,
	unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_DELETE_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_INIT_MODULE,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD,
	unix.SYS_OPEN_BY_HANDLE_AT, // walks out of any mount, by inode number
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_REBOOT,
	unix.SYS_SWAPOFF, unix.SYS_SWAPON,
	unix.SYS_SYSLOG,
	unix.SYS_IO_URING_SETUP, // makes sockets, among others, that no filter sees
	unix.SYS_USERFAULTFD,    // makes kernel races easy to win
}

// missing are the calls that fail as on a kernel that has none: those of keyrings,
// which are of the caller's session. Container engines go on without them then,
// and give up where they are refused.
var missing = []uint32{unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY}
