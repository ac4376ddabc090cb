package forkbox

import (
	"slices"
	"time"
)

// Service is a program of reality that waits for connections: what a box would
// need a copy of to be like the machine.
type Service struct {
	// Name is the recipe's, or else the program's; with a port where there are
	// several.
	Name   string `json:"name"`
	Recipe string `json:"recipe"` // generic where none is made for the program
	// Ports are those of TCP; Sockets are unix sockets with a path.
	Ports     []int    `json:"ports"`
	Sockets   []string `json:"sockets,omitempty"`
	PID       int      `json:"pid"`       // of the process that the others come from
	Processes int      `json:"processes"` // how many there are
	UID       int      `json:"uid"`
	User      string   `json:"user"` // the name, where the host knows one
	Command   Strings  `json:"command"`
	Dir       string   `json:"dir,omitempty"`  // the working directory
	Unit      string   `json:"unit,omitempty"` // systemd's, where it has one
	// Data is what the service keeps on disk, and would have to be copied.
	Data []ServiceData `json:"data"`
	// Way is how the data would be copied for a box, and Pause for how long the
	// service would stand still for that, as far as that can be told.
	Way   string        `json:"way,omitempty"`
	Pause time.Duration `json:"pause_ns,omitempty"`
	// Still is of when the data is that a box would begin with; nil if it would be
	// copied first.
	Still *time.Time `json:"still,omitempty"`
	Note  string     `json:"note,omitempty"` // what could not be told, and why
	// Container is what it runs in, nil if it is the machine's own. One without an
	// ID is a container's of which no more is known.
	Container *ServiceContainer `json:"container,omitempty"`
}

// ServiceContainer is a container, as its engine tells of it.
type ServiceContainer struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Image   string `json:"image,omitempty"`
	Engine  string `json:"engine,omitempty"` // the socket that the engine answers on
	Project string `json:"project,omitempty"`
	Service string `json:"service,omitempty"` // what the project calls it
	// Ports are those of TCP that lead into it, and those that its image says it
	// listens on, which only its project reaches.
	Ports []ContainerPort `json:"ports,omitempty"`
	// HostNetwork says that it has the network of the machine.
	HostNetwork bool             `json:"host_network,omitempty"`
	Mounts      []ContainerMount `json:"mounts,omitempty"`
	// Hosts are the names by which it and its project's others are known there.
	Hosts []string `json:"hosts,omitempty"`
	// After are services that have to be ready before it, as [Service.Name].
	After []string `json:"after,omitempty"`
}

// ContainerPort is a port that a container listens on.
type ContainerPort struct {
	Host  int `json:"host,omitempty"` // that leads to it on the machine; 0: none
	Inner int `json:"inner"`
}

// ContainerMount is what a container sees at a path that is not its own.
type ContainerMount struct {
	Kind     string `json:"kind"` // volume, bind, tmpfs
	Name     string `json:"name,omitempty"`
	Source   string `json:"source,omitempty"` // on the machine
	Target   string `json:"target"`
	Writable bool   `json:"writable,omitempty"`
}

// PortsInBox are those that a copy of the service listens on in a box. A copy of a
// container has no network of its own there: it is reached at the ports that the
// machine has for it, and at its own.
func (s Service) PortsInBox() (ports []int) {
	ports = slices.Clone(s.Ports)
	if s.Container != nil {
		for _, p := range s.Container.Ports {
			ports = append(ports, p.Inner)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// ServiceData is a file or a directory of a service.
type ServiceData struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // on disk
	Files int    `json:"files"`
	// Counting says that there was more than could be counted in time.
	Counting bool `json:"counting,omitempty"`
}

// Still is the data of a service at one moment: layers that any number of boxes
// begin with. It is taken once.
type Still struct {
	ID      string    `json:"id"`
	UID     int       `json:"uid"`     // whose it is: who had it taken
	Service string    `json:"service"` // as [Service.Name]
	Taken   time.Time `json:"taken"`
	// Of tells the service apart from another that came to have its name: where
	// its data lies, and which ports it has.
	Of string `json:"of"`
	// Way is how it was copied, and Paused for how long the service stood still.
	Way    string        `json:"way"`
	Paused time.Duration `json:"paused_ns"`
	Bytes  int64         `json:"bytes"`
	// Layers are those with the data, the topmost first; none where the service
	// keeps nothing.
	Layers []string `json:"layers,omitempty"`
	// Good is for how long it is young enough for who had it taken.
	Good time.Duration `json:"good_ns,omitempty"`
	// Ready says that a copy of the service was started on it once and ended by
	// itself: the next one begins at once.
	Ready bool `json:"ready,omitempty"`
}

// ServiceStart is how a copy of a service is started in a box, and ended.
type ServiceStart struct {
	Argv Strings `json:"argv"`
	Dir  string  `json:"dir,omitempty"`
	Env  Strings `json:"env,omitempty"`
	UID  int     `json:"uid"`
	GID  int     `json:"gid"`
	User string  `json:"user,omitempty"` // the name of UID, where it has one
	// Make are directories that it needs and that no box has: those of its sockets.
	Make Strings `json:"make,omitempty"`
	// Ready is a command that succeeds when the service answers; without one its
	// ports have to.
	Ready    Strings       `json:"ready,omitempty"`
	Patience time.Duration `json:"within_ns,omitempty"` // until it is ready
	Stop     int           `json:"stop,omitempty"`      // the signal that ends it
	// Reach are variables that lead programs to it: PGHOST and PGPORT for those of
	// PostgreSQL. Commands that probe and settle have them.
	Reach Strings `json:"reach,omitempty"`
}

// BoxService is a service that a box has a copy of.
type BoxService struct {
	Name    string  `json:"name"`
	Recipe  string  `json:"recipe"`
	Ports   []int   `json:"ports"`
	Data    Strings `json:"data,omitempty"`    // directories and files that are the copy's own, and never land
	Sockets Strings `json:"sockets,omitempty"` // unix sockets that it makes
	// Hosts are names that lead to it in the box: those that containers call each
	// other by.
	Hosts Strings `json:"hosts,omitempty"`
	// Still is what the copy began with, if the service keeps data.
	Still  string     `json:"still,omitempty"`
	Taken  *time.Time `json:"taken,omitempty"`
	Layers []string   `json:"layers,omitempty"`

	Start ServiceStart `json:"start"`
	After Strings      `json:"after,omitempty"` // services that have to be ready first
	// Stopped says that its owner ended it: it does not come back with the box.
	Stopped bool `json:"stopped,omitempty"`
	// Exec is the command that it runs as, where a box is shown, and State what
	// became of it: "ready", "starting", "stopped", "failed", "resting". Neither is part of the
	// box's record.
	Exec  string `json:"exec,omitempty"`
	State string `json:"state,omitempty"`
}

// ServiceData is what of the machine's files the copies of services in a box have
// as their own.
func (b Box) ServiceData() (paths []string) {
	for _, s := range b.Services {
		paths = append(paths, s.Data...)
		for _, socket := range s.Sockets {
			paths = append(paths, socket, socket+".lock")
		}
	}
	return paths
}

// ServiceHosts are the names that lead to services of the box, each once.
func (b Box) ServiceHosts() (names []string) {
	for _, s := range b.Services {
		names = append(names, s.Hosts...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// StillLayers are the layers that a box lies over for its services, below its own.
func (b Box) StillLayers() (layers []string) {
	for _, s := range b.Services {
		layers = append(layers, s.Layers...)
	}
	return layers
}

// ServiceLabel marks the exec that a service of a box runs as.
const ServiceLabel = "service:"

// FindService is a box's service of a name.
func (b *Box) FindService(name string) *BoxService {
	i := slices.IndexFunc(b.Services, func(s BoxService) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Services[i]
}
