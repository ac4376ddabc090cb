package describe

import (
	"os"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// UntilMoment is how far away a moment is. In the host's run that it was noted
// in it counts on whatever the clock was set to.
func UntilMoment(m forkbox.Moment) time.Duration {
	var now unix.Timespec
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil && m.Boot != "" && strings.TrimSpace(string(boot)) == m.Boot && unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) == nil {
		return m.Since - time.Duration(now.Nano())
	}
	return time.Until(m.Time)
}
