package forkbox

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"
)

// Net says what network a box has.
type Net string

const (
	NetNone   Net = "none"   // its own loopback, nothing else
	NetPolicy Net = "policy" // its own loopback, and through a gate what its rules allow
	NetHost   Net = "host"   // the host's network, shared
)

// The presets: rules that come after a box's own.
const (
	PresetLocked   = "locked"   // nothing
	PresetBalanced = "balanced" // what this machine's tools are configured to use, and the model APIs
	PresetOpen     = "open"     // every public address
)

// NetRule is one rule as people write it, "allow git.example.com:443", and who
// wrote it: "box", "project FILE", "preset NAME", "host".
type NetRule struct {
	Rule string `json:"rule"`
	From string `json:"from"`
}

// Network is what a box whose Net is NetPolicy may reach, and who reaches it.
type Network struct {
	Preset string `json:"preset,omitempty"`
	// Rules are in order: the first that matches decides, and what none
	// matches is refused. The preset's come last. Those of the host's floor
	// are not among them: it is asked each time.
	Rules []NetRule `json:"rules,omitempty"`
	// HostPorts are services on the host's loopback that the box reaches as
	// HostName.
	HostPorts []int `json:"host_ports,omitempty"`
	// LetIn are those of HostPorts that lead to the host also from the box's own
	// loopback, on the same port.
	LetIn []int `json:"let_in,omitempty"`
	// Team is the named network in which boxes reach each other by name.
	Team string `json:"team,omitempty"`
	// Secrets are those that the gate puts in where the box sends the
	// placeholder, by name.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Terminate names hosts whose TLS ends at the gate, beside those that rules
	// and secrets need it for; Pinned never does.
	Terminate []string `json:"terminate,omitempty"`
	Pinned    []string `json:"pinned,omitempty"`
	// CA is the certificate that the box trusts, in PEM, where TLS ends at the
	// gate for some host.
	CA string `json:"ca,omitempty"`
	// Ports are published on the host's loopback while the box runs.
	Ports []Port `json:"ports,omitempty"`
	// Asked is what was asked for.
	Asked *NetWish `json:"asked,omitempty"`
}

// HostName is the host's name in a box that may reach some of its ports.
const HostName = "host.forkbox.internal"

// NetWish is what network a caller asks for.
type NetWish struct {
	// Preset and Rules were said for this box. Rules are "allow X" or "deny X".
	Preset    string   `json:"preset,omitempty"`
	Rules     []string `json:"rules,omitempty"`
	HostPorts []int    `json:"host_ports,omitempty"`
	LetIn     []int    `json:"let_in,omitempty"` // as HostPorts, and on the box's own loopback
	Secrets   []string `json:"secrets,omitempty"`
	Terminate []string `json:"terminate,omitempty"`
	Pinned    []string `json:"pinned,omitempty"`
	// Project is what the project's file ProjectFile says.
	Project     *NetWish `json:"project,omitempty"`
	ProjectFile string   `json:"project_file,omitempty"`
	// Found is what this machine's tools are configured to use, as who asks
	// sees it: the preset balanced consists of it. Nil: the daemon looks itself.
	Found []NetRule `json:"found,omitempty"`
}

// MostRules is how many rules, and how many of anything else that a list has, a
// network can have.
const MostRules = 1000

// Check refuses what is more than a caller can mean, before it is worked on.
func (w NetWish) Check() error {
	const op = "read what network is asked for"
	for _, n := range []int{len(w.Rules), len(w.HostPorts), len(w.LetIn), len(w.Secrets), len(w.Terminate), len(w.Pinned), len(w.Found)} {
		if n > MostRules {
			return Errorf(Invalid, op, "a list has %d entries, and %d is the most", n, MostRules)
		}
	}
	if w.Project == nil {
		return nil
	}
	if w.Project.Project != nil || len(w.Project.Found) > 0 || w.Project.ProjectFile != "" {
		return Errorf(Invalid, op, "a project has no project of its own")
	}
	return w.Project.Check()
}

// AllLetIn are the ports that the caller or the project wants let in.
func (w NetWish) AllLetIn() []int {
	if w.Project == nil {
		return w.LetIn
	}
	return slices.Concat(w.LetIn, w.Project.LetIn)
}

// Port is one of a box's, published on the host's loopback.
type Port struct {
	Box  int `json:"box"`
	Host int `json:"host"`
}

// NetTarget is something that a box tries to reach.
type NetTarget struct {
	Proto  string     `json:"proto"` // "tcp", "udp", "icmp", …
	Host   string     `json:"host,omitempty"`
	Addr   netip.Addr `json:"addr,omitzero"`
	Port   int        `json:"port,omitempty"`
	Method string     `json:"method,omitempty"` // of a request, where it is seen
	Path   string     `json:"path,omitempty"`
}

// NetVerdict is what the gate makes of a target.
type NetVerdict struct {
	Target  NetTarget `json:"target"`
	Allowed bool      `json:"allowed"`
	Rule    NetRule   `json:"rule,omitzero"`    // that decided; none: nothing allows it
	Why     string    `json:"why"`              // in words
	Remedy  string    `json:"remedy,omitempty"` // what would allow it
}

// ConnState says what became of a connection.
type ConnState string

const (
	ConnOpen    ConnState = "open"
	ConnClosed  ConnState = "closed"  // it was open, and has ended
	ConnRefused ConnState = "refused" // by the policy
	ConnFailed  ConnState = "failed"  // allowed, but the other end was not to be reached
	ConnLost    ConnState = "lost"    // the daemon ended while it was open
)

// Conn is one attempt of a box to reach something. IDs count up, over all boxes.
type Conn struct {
	ID      int64         `json:"id"`
	Box     string        `json:"box"`
	Name    string        `json:"name"` // the box's
	UID     int           `json:"uid"`  // of the box's owner
	Exec    string        `json:"exec,omitempty"`
	PID     int           `json:"pid,omitempty"` // as the box sees it, where it can be told
	Command string        `json:"command,omitempty"`
	Time    time.Time     `json:"time"`
	Lasted  time.Duration `json:"lasted_ns,omitempty"`
	State   ConnState     `json:"state"`
	In      int64         `json:"in"`  // bytes to the box
	Out     int64         `json:"out"` // bytes from it
	// Times is how many alike were made into this record; 1 if not said.
	Times int `json:"times,omitempty"`
	NetVerdict
}

// Who is a process of a box.
type Who struct {
	Exec    string
	PID     int // as the box sees it
	Command string
}

// Networked is an instance with a network of its own.
type Networked interface {
	// Device opens the box's end of its gate: a TUN device that packets are
	// read from and written to. Only NetPolicy has one.
	Device(ctx context.Context) (*os.File, error)
	// Dial connects to a TCP port of the box's loopback.
	Dial(ctx context.Context, port int) (net.Conn, error)
	// Holder tells which process has the socket that sends from local to
	// remote, where that can be told. proto is "tcp" or "udp".
	Holder(proto string, local, remote netip.AddrPort) (Who, bool)
}

// Gate is what a running box's traffic goes through.
type Gate interface {
	// Update has the box's changed network and limits hold from now on;
	// connections that are no longer allowed are ended.
	Update(box Box) error
	// Close ends all connections.
	Close() error
}

// Hears is what a gate tells and asks the engine.
type Hears struct {
	// Record is told of each attempt when it is decided and, where that was to
	// allow it, again with the same id when it ends. What is allowed may have
	// to wait in it until earlier records are written.
	Record func(Conn)
	// NextID is the id of the next record.
	NextID func() int64
	// Mates finds a running box of the same owner and team by its name.
	Mates func(name string) (boxID string, ok bool)
}

// Secret is a value that boxes can use and never see.
type Secret struct {
	Name    string    `json:"name"`
	Hosts   []string  `json:"hosts"` // that it is sent to
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// TeamPrefix is what the name of a team follows where a network is asked for.
const TeamPrefix = "team:"
