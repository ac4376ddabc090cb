//go:build linux

package native

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
)

// A box holds the filesystems that the host had mounted when it was started:
// one that the host unmounts lives on until the box is stopped, and its disk
// stays busy. No mount table says so: what an overlay lies over is in none. So
// init is told, in an argument that it does not read, and there it can be read
// for as long as it lives, also by the next daemon.

// pins is that argument: a line "MAJOR:MINOR POINT" for each mount. The kernel
// gives the number of a mount to another as soon as it is free; that of a device
// is taken for as long as the box holds the filesystem.
func pins(mounts []hostmounts.Mount, hidden []string) string {
	var b strings.Builder
	for _, m := range mounts {
		if m.Point == "/" || hostmounts.Below(m.Point, hidden...) || strings.Contains(m.Point, "\n") {
			continue
		}
		b.WriteString(pin(m.Dev[0], m.Dev[1], m.Point))
		b.WriteByte('\n')
	}
	return b.String()
}

func pin(major, minor int, point string) string {
	return strconv.Itoa(major) + ":" + strconv.Itoa(minor) + " " + point
}

// Unmounted are the mount points of filesystems that the box holds and the host
// has not any more.
func (i *instance) Unmounted() (points []string, err error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", i.process.PID))
	args := bytes.Split(line, []byte{0})
	if err != nil || len(args) < 3 {
		return nil, err // it has ended, or an older version started it
	}
	now, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, m := range now {
		there[pin(m.Major, m.Minor, m.Mountpoint)] = true
	}
	for line := range strings.Lines(string(args[2])) {
		held := strings.TrimSuffix(line, "\n")
		if _, point, ok := strings.Cut(held, " "); ok && !there[held] {
			points = append(points, point)
		}
	}
	return points, nil
}
