//go:build linux

package native

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
	"github.com/forkbox/forkbox/internal/secrets"
	"github.com/forkbox/forkbox/internal/services"
)

// lay makes the veil of one box: what all of its owner's have, its name, and
// what makes its programs find and trust the gate.
func (c *concealment) lay(box forkbox.Box, trust func(ca string) map[string][]byte) *veil {
	v := c.veil.clone()
	v.write("/etc/hostname", []byte(box.Name+"\n"))
	v.write("/etc/hosts", hosts(box))
	if box.Net == forkbox.NetPolicy {
		raw, _ := os.ReadFile(resolvFile)
		v.write(resolvFile, resolvConf(raw))
	}
	for path, content := range trust(box.Network.CA) {
		v.write(path, content)
	}
	return v
}

// concealment is what the boxes of one owner have in common.
type concealment struct {
	key     string // of whose it is
	turn    int    // of the mount table that it was made with
	made    time.Time
	veil    *veil
	veilKey string   // tells veils apart
	hidden  []string // below these nothing of the host may be mounted
}

// veils remembers the last concealment, and the last files of a gate's.
type veils struct {
	mu   sync.Mutex
	last *concealment

	ca    string // whose files trust is
	trust map[string][]byte
}

// concealmentAge is how long it is used again. Looking at some hundred places
// takes a while, and what comes into being meanwhile is hidden all the same:
// the veil covers the places, not only what is there.
const concealmentAge = time.Second

// scenery says what of the host a box is shown, and what in its place.
type scenery struct {
	home     string
	mounts   *hostmounts.Table
	rootless bool
	veils    *veils
	trust    func(ca string) map[string][]byte // see Trust
}

// trustBy says what files make programs trust a certificate.
func (sc *scenery) trustBy(files func(ca string) map[string][]byte) { sc.trust = files }

// ageVeils has a concealment that will not be used much longer be made anew.
func (sc *scenery) ageVeils() { sc.veils.ageing() }

func (sc *scenery) concealment(box forkbox.Box) (*concealment, error) {
	places, turn, err := sc.mounts.Places()
	if err != nil {
		return nil, forkbox.Wrap("read the mount table", err)
	}
	key := fmt.Sprint(turn, "\x00", box.Owner.UID, "\x00", box.Owner.Home, "\x00", box.AllowSecrets, "\x00", box.Base.Root, "\x00", box.Places)
	if sc.rootless || len(box.Places) > 0 {
		key += "\x00" + box.Dir // see writable, and secrets
	}
	sc.veils.mu.Lock()
	defer sc.veils.mu.Unlock()
	if c := sc.veils.last; c != nil && c.key == key && time.Since(c.made) < concealmentAge {
		return c, nil
	}
	c := &concealment{key: key, turn: turn, made: time.Now(), veil: newVeil(sc.veilDir(), sc.rootless)}
	if box.Base.Root == "" {
		c.hidden = sc.cover(c.veil, box, places)
	} else {
		c.veil.mountPoints()
	}
	c.veilKey = c.veil.key()
	sc.veils.last = c
	return c, nil
}

// ageing has a concealment that will not be used much longer be made anew.
func (v *veils) ageing() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last != nil && time.Since(v.last.made) > concealmentAge/2 {
		v.last = nil
	}
}

// cover hides what a box must not see.
func (sc *scenery) cover(v *veil, box forkbox.Box, mounts []hostmounts.Placed) (hidden []string) {
	for _, path := range append(hostmounts.Aliases(mounts, sc.home), sc.home) {
		hidden = append(hidden, path)
		v.absent(path)
	}
	again := hostmounts.Repeated(mounts)
	for _, e := range sc.secrets(box) {
		if e.Target == sc.home {
			continue // it is absent, which is more
		}
		hidden = append(hidden, e.Path, e.Target)
		v.empty(e.Path)
		if e.Target != e.Path {
			v.empty(e.Target)
		}
		if again {
			for _, path := range hostmounts.Aliases(mounts, e.Target) {
				hidden = append(hidden, path)
				v.empty(path)
			}
		}
	}
	for _, socket := range liveSockets() {
		path, _ := v.resolve(socket)
		if !hostmounts.Below(path, hidden...) && !hostmounts.Below(path, hostmounts.NotShown...) && !secrets.Allowed(socket, box.AllowSecrets) {
			v.absent(path)
		}
	}
	for _, path := range services.Live() {
		if !hostmounts.Below(path, hidden...) && !secrets.Allowed(path, box.AllowSecrets) {
			hidden = append(hidden, path)
			v.empty(path)
			v.write(filepath.Join(path, liveNote), fmt.Appendf(nil, liveText, path))
		}
	}
	sc.writable(v, box)
	return hidden
}

// What a box finds in place of a database that runs: a server that is started
// there does not start, and its error leads a reader to the note.
const (
	liveNote = "FORKBOX-README"
	liveText = `The database whose files are here runs on the machine itself, so this box does not
see them: a server that starts on files which another is writing to finds them
torn. "forkbox services" shows what runs, and a box made with --with and its name
has a copy of it, up and on the same port. A box made with --allow-secrets
%s
sees the files all the same.
`
)

// secrets lists what is hidden from a box: its owner's secrets, those of all
// users where the box has a root, what acts for the host, and what the
// environments name that it was made and started with.
func (sc *scenery) secrets(box forkbox.Box) []secrets.Entry {
	entries := secrets.Paths(box.Owner.Home)
	if !sc.rootless {
		for _, home := range homes() {
			if home != box.Owner.Home {
				entries = append(entries, secrets.Paths(home)...)
			}
		}
	}
	entries = append(entries, secrets.Runtime(box.Owner.UID)...)
	entries = append(entries, secrets.Lying()...)
	entries = append(entries, secrets.Named(box.Places, []string{box.Owner.Home, box.Dir})...)
	return secrets.Hide(entries, box.AllowSecrets)
}

// homes are those of the people on this machine. Root in a box could read them
// all, and the person who typed sudo has one of them.
func homes() []string {
	list := []string{"/root"}
	boxinit.FindEntry("/etc/passwd", func(f []string) bool {
		if len(f) >= 6 && len(list) < maxHomes {
			uid, err := strconv.Atoi(f[2])
			if _, lerr := os.Lstat(f[5]); err == nil && lerr == nil && uid >= 1000 && uid < 60000 {
				list = append(list, f[5])
			}
		}
		return false
	})
	return list
}

const maxHomes = 32

// writable opens directories that the user may write to although another user
// owns them. An unprivileged box cannot copy up a directory whose owner it
// does not map; the veil shows it as the user's own.
func (sc *scenery) writable(v *veil, box forkbox.Box) {
	if !sc.rootless {
		return
	}
	dirs := []string{"/var/tmp", "/run/lock", "/var/crash"}
	for dir := box.Dir; filepath.IsAbs(dir) && dir != "/"; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		path, st := v.resolve(dir)
		if path == dir && st != nil && st.IsDir() && !owns(st, box.Owner.UID) && unix.Access(path, unix.W_OK) == nil {
			v.put(top, path, emptyDir, v.mkdir(st))
		}
	}
}

func owns(st os.FileInfo, uid int) bool {
	owner, _ := ownerOf(st)
	return owner == uid
}

func ownerOf(st os.FileInfo) (uid, gid int) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(sys.Uid), int(sys.Gid)
}

// hosts is reality's /etc/hosts with the box's own name in it. Where names are
// for the gate to resolve, which knows the rest of it, only loopback is there:
// an address that the gate did not give out for a name is reached by no name.
// The names of containers lead to the box, which has the copies.
func hosts(box forkbox.Box) []byte {
	raw, _ := os.ReadFile("/etc/hosts")
	if box.Net == forkbox.NetPolicy {
		raw = onlyLoopback(raw)
	}
	raw = append(bytes.TrimRight(raw, "\n"), '\n')
	if names := box.ServiceHosts(); len(names) > 0 {
		raw = append(raw, "127.0.0.1\t"+strings.Join(names, " ")+"\n"...)
	}
	return append(raw, "127.0.1.1\t"+box.Name+"\n"...)
}

func onlyLoopback(hosts []byte) (kept []byte) {
	for line := range bytes.Lines(hosts) {
		f := bytes.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if addr, err := netip.ParseAddr(string(f[0])); err == nil && addr.IsLoopback() {
			kept = append(kept, line...)
		}
	}
	return kept
}
