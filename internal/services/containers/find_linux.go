package containers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Labels that compose gives the containers of a project.
const (
	labelProject = "com.docker.compose.project"
	labelService = "com.docker.compose.service"
	labelDepends = "com.docker.compose.depends_on"
)

// Container is one that runs and that a port leads to.
type Container struct {
	forkbox.ServiceContainer
	PID     int             // of its first process, as this machine numbers it; 0 where it is not known to be here
	Names   map[string]bool // what others in its project call it, and it itself
	Depends []string        // the compose services that it comes after
	Trusted bool            // what its engine names may be opened

	said inspected
}

// askLimit bounds what all engines together may take.
const askLimit = 3 * time.Second

// Find asks the engines that a user may ask for the containers that are services:
// those with a published port, those in the network of the machine, and what
// belongs to a project with such. Silent are the engines that say nothing.
func Find(ctx context.Context, who forkbox.Owner) (found []Container, silent []Silent) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, path := range sockets(who) {
		all, err := engineAt(path, who).containers(ctx)
		if err != nil {
			silent = append(silent, Silent{path, err.Error()})
			continue
		}
		found = append(found, all...)
	}
	return found, silent
}

// containers are those of an engine that are services.
func (e *engine) containers(ctx context.Context) ([]Container, error) {
	all, err := e.list(ctx)
	if err != nil {
		return nil, err
	}
	names := namesOf(all)
	var found []Container
	for _, l := range all {
		if l.State != "running" && l.State != "paused" {
			continue
		}
		said, err := e.inspect(ctx, l.ID)
		if err != nil {
			if ctx.Err() != nil {
				return nil, reason(err)
			}
			continue // it has ended meanwhile
		}
		if c := e.describe(l, said); len(c.Ports) > 0 || c.HostNetwork {
			c.Names = namesIn(names, c)
			found = append(found, c)
		}
	}
	return found, nil
}

// namesOf are what the containers of each project call each other.
func namesOf(all []listed) map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for _, l := range all {
		project := l.Labels[labelProject]
		if project == "" {
			continue
		}
		if names[project] == nil {
			names[project] = map[string]bool{}
		}
		names[project][nameOf(l)] = true
		if service := l.Labels[labelService]; service != "" {
			names[project][service] = true
		}
	}
	return names
}

// namesIn are those that a container and its project's are known by.
func namesIn(names map[string]map[string]bool, c Container) map[string]bool {
	if of := names[c.Project]; of != nil {
		return of
	}
	return map[string]bool{c.Name: true}
}

func nameOf(l listed) string {
	if len(l.Names) == 0 {
		return l.ID[:min(12, len(l.ID))]
	}
	return strings.TrimPrefix(l.Names[0], "/")
}

func (e *engine) describe(l listed, said inspected) Container {
	c := Container{said: said, Trusted: e.trusted(), ServiceContainer: forkbox.ServiceContainer{
		ID: l.ID, Name: nameOf(l), Image: l.Image, Engine: e.path,
		Project: l.Labels[labelProject], Service: l.Labels[labelService],
		HostNetwork: said.HostConfig.NetworkMode == "host",
	}}
	c.Ports = ports(l, said)
	if c.Project == "" {
		// Of what belongs to no project it is those that can be reached.
		c.Ports = slices.DeleteFunc(c.Ports, func(p forkbox.ContainerPort) bool { return p.Host == 0 })
	}
	for _, m := range said.Mounts {
		c.Mounts = append(c.Mounts, forkbox.ContainerMount{Kind: m.Type, Name: m.Name, Source: m.Source, Target: m.Destination, Writable: m.RW})
	}
	slices.SortFunc(c.Mounts, func(a, b forkbox.ContainerMount) int { return strings.Compare(a.Target, b.Target) })
	for service := range strings.SplitSeq(l.Labels[labelDepends], ",") {
		if name, _, _ := strings.Cut(service, ":"); name != "" {
			c.Depends = append(c.Depends, name)
		}
	}
	if c.Trusted && Belongs(said.State.Pid, c.ID) {
		c.PID = said.State.Pid
	}
	return c
}

// ports are those of TCP that lead into a container, and those that it says it
// listens on: its project reaches these.
func ports(l listed, said inspected) (list []forkbox.ContainerPort) {
	inner := map[int]int{}
	for exposed := range said.Config.ExposedPorts {
		if number, is := strings.CutSuffix(exposed, "/tcp"); is {
			if port, err := strconv.Atoi(number); err == nil && port > 0 && port < 1<<16 {
				inner[port] = 0
			}
		}
	}
	for _, p := range l.Ports {
		if p.Type != "tcp" || p.PublicPort == 0 {
			continue
		}
		delete(inner, p.PrivatePort)
		list = append(list, forkbox.ContainerPort{Host: p.PublicPort, Inner: p.PrivatePort})
	}
	for port := range maps.Keys(inner) {
		list = append(list, forkbox.ContainerPort{Inner: port})
	}
	slices.SortFunc(list, func(a, b forkbox.ContainerPort) int {
		return cmp.Or(cmp.Compare(a.Inner, b.Inner), cmp.Compare(a.Host, b.Host))
	})
	return slices.Compact(list)
}

// Again asks for a container once more, on behalf of root, who alone has copies of
// containers.
func Again(ctx context.Context, of forkbox.ServiceContainer) (Container, error) {
	const op = "ask for the container"
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if of.ID == "" {
		return Container{}, forkbox.Errorf(forkbox.Unsupported, op, "its engine does not answer").
			Hint("start the engine, or say where it is: DOCKER_HOST=unix:///PATH forkbox serve")
	}
	e := engineAt(of.Engine, forkbox.Owner{})
	all, err := e.list(ctx)
	if err != nil {
		return Container{}, forkbox.Errorf(forkbox.Unsupported, op, "its engine does not answer at %s: %w", of.Engine, err)
	}
	i := slices.IndexFunc(all, func(l listed) bool { return l.ID == of.ID })
	if i >= 0 {
		if said, err := e.inspect(ctx, of.ID); err == nil && said.State.Running {
			c := e.describe(all[i], said)
			c.Names = namesIn(namesOf(all), c)
			return c, nil
		}
	}
	return Container{}, forkbox.Errorf(forkbox.NotFound, op, "%s has ended", of.Name).Hint("look at `forkbox services`")
}
