package network

import (
	"maps"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// asksNet says whether a caller asked for something of this box's network. What
// a project's file says, and what the machine's tools use, is no such wish: it
// goes along with every box.
func asksNet(w forkbox.NetWish) bool {
	return w.Preset != "" || len(w.Rules)+len(w.HostPorts)+len(w.LetIn)+len(w.Secrets)+len(w.Terminate)+len(w.Pinned) > 0
}

func emptyNet(w forkbox.NetWish) bool {
	return !asksNet(w) && w.Project == nil && w.ProjectFile == "" && w.Found == nil
}

// netOver is what was asked for, with what is asked for now on top: rules come
// before the earlier ones, so that they decide.
func netOver(was, now forkbox.NetWish) forkbox.NetWish {
	out := cloneWish(was)
	out.Preset = core.OrElse(now.Preset, was.Preset)
	out.Rules = inFront(now.Rules, was.Rules)
	out.HostPorts = beside(was.HostPorts, now.HostPorts)
	out.LetIn = beside(was.LetIn, now.LetIn)
	out.Secrets = beside(was.Secrets, now.Secrets)
	out.Terminate = beside(was.Terminate, now.Terminate)
	out.Pinned = beside(was.Pinned, now.Pinned)
	if now.Project != nil || now.ProjectFile != "" {
		out.Project, out.ProjectFile = now.Project, now.ProjectFile
	}
	if now.Found != nil {
		out.Found = slices.Clone(now.Found)
	}
	return out
}

// inFront puts rules before others. One that was there already moves: the same
// rule twice says nothing, and lists would grow with each change of mind.
func inFront(first, rest []string) []string {
	out := slices.Clone(first)
	for _, r := range rest {
		if !slices.Contains(first, r) {
			out = append(out, r)
		}
	}
	return out
}

// beside is both, each once.
func beside[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func cloneWish(w forkbox.NetWish) forkbox.NetWish {
	w.Rules, w.HostPorts, w.Secrets = slices.Clone(w.Rules), slices.Clone(w.HostPorts), slices.Clone(w.Secrets)
	w.LetIn = slices.Clone(w.LetIn)
	w.Terminate, w.Pinned, w.Found = slices.Clone(w.Terminate), slices.Clone(w.Pinned), slices.Clone(w.Found)
	return w
}

// Clone: boxes that are made of one wish must not share what is written
// into each of them, placeholders above all.
func Clone(n forkbox.Network) forkbox.Network {
	n.Rules, n.HostPorts, n.Ports = slices.Clone(n.Rules), slices.Clone(n.HostPorts), slices.Clone(n.Ports)
	n.LetIn = slices.Clone(n.LetIn)
	n.Terminate, n.Pinned, n.Secrets = slices.Clone(n.Terminate), slices.Clone(n.Pinned), maps.Clone(n.Secrets)
	if n.Asked != nil {
		asked := cloneWish(*n.Asked)
		n.Asked = &asked
	}
	return n
}
