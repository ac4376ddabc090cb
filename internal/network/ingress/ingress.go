// Package ingress is the way into boxes: it publishes their ports on the host's
// loopback, and opens them by URL.
//
// Every box has the same ports for itself, so the host needs names for them. A
// published port is a number of the host's that leads to a number of the box's:
// bytes are relayed, whatever they mean. A URL such as
// http://3000--try.localhost:7357 needs no number: one HTTP server serves all
// boxes and tells them apart by the Host header. Browsers and systems resolve
// every name below localhost to the loopback by themselves.
//
// What it guards against:
//   - Only the loopback is listened on, at both of its addresses: else a
//     program of another user could sit at [::1] and get half of the visitors.
//   - A web page that lets its own name resolve to the loopback (DNS rebinding)
//     sends its own name as Host and is turned away. Nothing but a name below
//     localhost is served, and of those only what an owner opened.
//   - Nothing is dialled but the box's own loopback, by the function that came
//     with the box. No part of a request chooses an address.
//   - Connections are counted, per box and in all: visitors of one box cannot
//     use up the daemon's files.
//
// The loopback belongs to every user of the machine: like any server there,
// what is published can be reached by all of its users. The server in the box
// has to know whom it trusts.
package ingress

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/forkbox/forkbox"
)

// Dial connects to a TCP port of a box's loopback.
type Dial = func(ctx context.Context, port int) (net.Conn, error)

// Config is what an Ingress is made of. Every field may be zero.
type Config struct {
	// URLs is the loopback address that URLs are served at, "127.0.0.1:0" for
	// any free port. If empty it is 127.0.0.1:7357, or any free port where
	// that one is taken.
	URLs string
	// UID is the daemon's user, whose boxes' URLs need not say whose they are.
	UID int
	// Connections is how many may be open at once, in all. If zero, as many as
	// the process may well have files for, 4096 at most.
	Connections int
	Log         *slog.Logger
}

// Ingress is the way into the boxes of one daemon. It listens nowhere until
// something is published or opened.
type Ingress struct {
	urls string
	log  *slog.Logger
	all  *room

	mu     sync.Mutex
	boxes  map[string]*inlet  // by box id
	hosts  map[int]*published // by port of the host
	names  labels
	router *router // nil until a URL is asked for
	ended  bool

	running sync.WaitGroup // every listener and every accepted connection
}

// inlet is all that leads into one box.
type inlet struct {
	box    forkbox.Box
	room   *room
	ports  map[int]*published // by port of the host
	routes map[int]*route     // by port of the box
}

// New makes an Ingress.
func New(c Config) *Ingress {
	most := c.Connections
	if most <= 0 {
		most = affordable()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Ingress{
		urls: c.URLs, log: c.Log, all: &room{most: int64(most)},
		boxes: map[string]*inlet{}, hosts: map[int]*published{}, names: newLabels(c.UID),
	}
}

// inlet is the one of a box, made if there is none. The caller holds mu, and
// calls tidy when it came to nothing.
func (i *Ingress) inlet(box forkbox.Box) *inlet {
	in := i.boxes[box.ID]
	if in == nil {
		// One box gets a quarter of what there is: the others stay reachable.
		in = &inlet{
			box: box, room: &room{most: max(1, i.all.most/4), outer: i.all},
			ports: map[int]*published{}, routes: map[int]*route{},
		}
		i.boxes[box.ID] = in
	}
	return in
}

// tidy forgets an inlet that leads nowhere.
func (i *Ingress) tidy(in *inlet) {
	if len(in.ports) == 0 && len(in.routes) == 0 {
		delete(i.boxes, in.box.ID)
	}
}

// Close ends all that leads into a box: its published ports are free again, its
// URLs lead nowhere and its connections are cut. It can be repeated.
func (i *Ingress) Close(box string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if in := i.boxes[box]; in != nil {
		i.end(in)
	}
}

func (i *Ingress) end(in *inlet) {
	for _, p := range in.ports {
		i.endPort(in, p)
	}
	for port, r := range in.routes {
		i.endRoute(in, port, r)
	}
	i.tidy(in)
}

// Shutdown ends everything and returns when nothing of it runs any more. What
// is asked for afterwards is refused.
func (i *Ingress) Shutdown() {
	i.mu.Lock()
	i.ended = true
	for _, in := range i.boxes {
		i.end(in)
	}
	if i.router != nil {
		i.router.close()
	}
	i.mu.Unlock()
	i.running.Wait()
}

// begin takes the lock for a request, unless there is nothing to begin any more.
func (i *Ingress) begin(op string) error {
	i.mu.Lock()
	if i.ended {
		i.mu.Unlock()
		return forkbox.Errorf(forkbox.Unavailable, op, "the daemon is ending")
	}
	return nil
}
