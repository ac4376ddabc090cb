//go:build linux

package native

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/wire"
)

// Holder finds the process behind a socket: by the socket's inode, among the
// open files of the box's processes. Who made a connection just now comes first:
// it often makes the next one, too.
func (i *instance) Holder(proto string, local, remote netip.AddrPort) (forkbox.Who, bool) {
	sockets, err := i.asking()
	if err != nil {
		return forkbox.Who{}, false
	}
	inode, ok := sockets.Inode(proto, local, remote)
	if !ok {
		return forkbox.Who{}, false
	}
	link := fmt.Sprintf("socket:[%d]", inode)
	if last, fresh := i.callers.last(); fresh && i.holds(last.pid, link) {
		return last.who, true
	}
	for _, pid := range i.members() {
		if i.holds(pid, link) {
			who := i.whoIs(pid)
			if who.Exec != "" { // else init may have more to say the next time
				i.callers.saw(pid, who)
			}
			return who, true
		}
	}
	return forkbox.Who{}, false
}

// holderLimit is how long init may take to help. A connection waits for it that
// long, and then goes on without the daemon knowing whose it is. It is far more
// than init takes on a busy host.
const holderLimit = 2 * time.Second

// callers remembers who made the last connection.
type callers struct {
	mu   sync.Mutex
	pid  int
	who  forkbox.Who
	when time.Time
}

// callerAge is how long it is believed to be what it was: a process can become
// another program, and a number another process.
const callerAge = 500 * time.Millisecond

type caller struct {
	pid int
	who forkbox.Who
}

func (c *callers) last() (caller, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return caller{c.pid, c.who}, time.Since(c.when) < callerAge
}

func (c *callers) saw(pid int, who forkbox.Who) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid, c.who, c.when = pid, who, time.Now()
}

// members are the box's processes, the youngest first: who has just made a
// connection has often just begun.
func (i *instance) members() []int {
	pids := freezer.Descendants(i.process.PID)
	slices.Sort(pids)
	slices.Reverse(pids)
	return pids
}

// asking is what asks about the box's sockets: it has to be opened within.
func (i *instance) asking() (*linux.Sockets, error) {
	i.asks.Lock()
	defer i.asks.Unlock()
	if i.sockets != nil {
		return i.sockets, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), holderLimit)
	defer cancel()
	file, err := i.fetch(ctx, boxinit.Request{Verb: boxinit.DoAsk})
	if err != nil {
		return nil, err
	}
	i.sockets, err = linux.OpenSockets(file)
	return i.sockets, err
}

// closeNetwork closes what is open of the network of a box that has ended.
func (i *instance) closeNetwork() {
	i.asks.Lock()
	defer i.asks.Unlock()
	if i.sockets != nil {
		i.sockets.Close()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	wire.CloseAll(i.device)
}

// What is spent on finding holders is bounded, for a process and for all in a
// second: a box with many open files could have the daemon work for it, beyond
// any limit of its own.
const (
	mostFiles  = 4096
	mostLooked = 20_000
)

// looks counts the open files that were looked at in a second.
type looks struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// afford says whether some more may be looked at.
func (l *looks) afford(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Second {
		l.since, l.n = now, 0
	}
	l.n += n
	return l.n <= mostLooked
}

func (i *instance) holds(pid int, link string) bool {
	if !i.looks.afford(1) {
		return false
	}
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(mostFiles)
	if !i.looks.afford(len(names)) {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		target, err := os.Readlink(dir.Name() + "/" + name)
		return err == nil && target == link
	})
}

// mostCommand is how much of a command line is told.
const mostCommand = 256

// whoIs tells what is known of a process. Without cgroups only init can tell
// the exec.
func (i *instance) whoIs(pid int) forkbox.Who {
	who := inspect(pid)
	if who.Exec == "" {
		ctx, cancel := context.WithTimeout(context.Background(), holderLimit)
		defer cancel()
		rep, _ := i.call(ctx, boxinit.Request{Verb: boxinit.DoWhose, PID: who.PID})
		who.Exec = rep.Exec
	}
	return who
}

func inspect(pid int) forkbox.Who {
	dir := "/proc/" + strconv.Itoa(pid)
	raw, _ := os.ReadFile(dir + "/cmdline")
	raw = raw[:min(len(raw), mostCommand)]
	who := forkbox.Who{Command: strings.ToValidUTF8(strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " ")), "?")}
	groups, _ := os.ReadFile(dir + "/cgroup")
	for line := range strings.Lines(string(groups)) {
		if _, id, ok := strings.Cut(strings.TrimSpace(line), "/x/"); ok {
			who.Exec, _, _ = strings.Cut(id, "/")
			break
		}
	}
	status, _ := os.ReadFile(dir + "/status")
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(numbers); len(f) > 0 {
				who.PID, _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	return who
}
