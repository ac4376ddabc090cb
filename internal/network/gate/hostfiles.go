package gate

import (
	"bufio"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// watched is a file of the host's that is read again when it has changed.
type watched struct {
	path   string
	mu     sync.Mutex
	looked time.Time
	info   os.FileInfo
}

// lookEvery is how often the file is looked at.
const lookEvery = time.Second

// changed reads the fields of each line again if the file is another than
// before; the caller holds the lock.
func (w *watched) changed(reset func(), line func(fields []string)) {
	if time.Since(w.looked) < lookEvery {
		return
	}
	w.looked = time.Now()
	info, err := os.Stat(w.path)
	if err != nil || w.info != nil && os.SameFile(info, w.info) && info.ModTime().Equal(w.info.ModTime()) && info.Size() == w.info.Size() {
		return
	}
	f, err := os.Open(w.path)
	if err != nil {
		return
	}
	defer f.Close()
	w.info = info
	reset()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		line(strings.Fields(text))
	}
}

// serverFile is the host's list of name servers.
type serverFile struct {
	watched
	servers []netip.AddrPort
}

func (s *serverFile) list() []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed(func() { s.servers = nil }, func(fields []string) {
		if len(fields) < 2 || fields[0] != "nameserver" {
			return
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			s.servers = append(s.servers, netip.AddrPortFrom(addr, dnsPort))
		}
	})
	return s.servers
}

// hostsFile is the host's own list of names.
type hostsFile struct {
	watched
	names map[string][]netip.Addr
}

func (h *hostsFile) addrs(name string) []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed(func() { h.names = map[string][]netip.Addr{} }, func(fields []string) {
		if len(fields) < 2 {
			return
		}
		addr, err := netip.ParseAddr(fields[0])
		for _, name := range fields[1:] {
			if err == nil {
				h.names[canonical(name)] = append(h.names[canonical(name)], addr.Unmap())
			}
		}
	})
	return h.names[name]
}
