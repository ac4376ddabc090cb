package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// Tasks is how many processes and threads there are in the box beside its
// first.
func (g *Group) Tasks() (int64, error) {
	const op = "count the box's processes"
	dir := g.execs().dir(pids)
	if dir == "" {
		return 0, forkbox.Errorf(forkbox.Unsupported, op, "this host does not count them")
	}
	text, err := read(filepath.Join(dir, "pids.current"))
	if err != nil {
		return 0, forkbox.Wrap(op, err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, forkbox.Wrap(op, err)
}
