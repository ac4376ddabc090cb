package main

import (
	"maps"

	"github.com/forkbox/forkbox"
)

// merge has the words of a race file count as if they were flags, where no flag
// says otherwise.
func (f *boxFlags) merge(start forkbox.RaceStart) {
	if f.from == "" && f.template == "" {
		f.from, f.template = start.From, start.Template
	}
	f.hidden = append(f.hidden, start.AllowSecrets...)
	f.mergeLimits(start.Wish)
	f.net.merge(start.Net, start.NetWish)
}

func (f *boxFlags) mergeLimits(wish forkbox.Wish) {
	limits := maps.Clone(wish.Limits)
	if limits == nil {
		limits = forkbox.Limits{}
	}
	maps.Copy(limits, f.limits.limits)
	f.limits.limits = limits
	if f.limits.effort == "" && wish.BestEffort {
		f.limits.effort = "best-effort"
	}
	if f.limits.priority == "" {
		f.limits.priority = limitPriority(wish.Priority)
	}
}

// merge puts rules of a file behind those of flags: the first that matches
// decides. Flags that leave a box without a gate leave it without the file's
// rules as well.
func (f *netFlags) merge(net string, wish forkbox.NetWish) {
	if f.net == "" {
		f.net = net
	}
	if f.ungated() && net != f.net {
		return
	}
	if f.preset == "" {
		f.preset = netPreset(wish.Preset)
	}
	f.rules = append(f.rules, wish.Rules...)
	f.hostPorts = append(f.hostPorts, wish.HostPorts...)
	f.secrets = append(f.secrets, wish.Secrets...)
	f.terminate = append(f.terminate, wish.Terminate...)
	f.pinned = append(f.pinned, wish.Pinned...)
}
