package linux

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BootID names the host's run since its last start. It is empty where the
// kernel does not say.
func BootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// SinceBoot counts from the host's start. It cannot be set, and goes on while
// the host sleeps.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// MaxPids is how many processes and threads the host can have.
func MaxPids() int64 {
	least := int64(1 << 22)
	for _, file := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var n int64
		for _, c := range strings.TrimSpace(string(raw)) {
			n = n*10 + int64(c-'0')
		}
		if n > 0 {
			least = min(least, n)
		}
	}
	return least
}
