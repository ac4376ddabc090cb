package cgroup

import "maps"

// note remembers the group of an exec, so that nobody has to look for it among
// the many files that the kernel has in each group.
func (g *Group) note(s *Sub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.subs != nil {
		g.subs[s.id] = s
	}
}

func (g *Group) forget(s *Sub) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.subs, s.id)
}

// execGroups are those of execs. Those of a box that an earlier daemon made are
// looked for once.
func (g *Group) execGroups() map[string]*Sub {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.subs == nil {
		g.subs = map[string]*Sub{}
		for _, id := range g.Execs() {
			if s, err := g.FindExec(id); err == nil {
				g.subs[id] = s
			}
		}
	}
	return maps.Clone(g.subs)
}

// within lists the directories, in the tree of a controller, of those groups of
// the box that processes can be in.
func (g *Group) within(c controller) (list []string) {
	list = append(list, g.box.dir(c))
	if init := g.host.kernel.init(g.box); init.rel != g.box.rel {
		list = append(list, init.dir(c))
	}
	for _, s := range g.execGroups() {
		list = append(list, s.own.dir(c))
	}
	return list
}
