//go:build linux

package native

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// tally counts processes one by one, where there is no cgroup that does. What
// ended already is not in it.
func (i *instance) tally() (forkbox.Stats, error) {
	s := forkbox.Stats{Time: time.Now()}
	page := int64(os.Getpagesize())
	for _, pid := range append(freezer.Descendants(i.process.PID), i.process.PID) {
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(fields) < 22 {
			continue
		}
		number := func(n int) int64 { v, _ := strconv.ParseInt(fields[n], 10, 64); return v }
		s.Pids += number(17)
		s.CPU += time.Duration(number(11)+number(12)) * time.Second / boxinit.TicksPerSecond
		s.Memory += number(21) * page
	}
	s.MemoryPeak = s.Memory
	return s, nil
}
