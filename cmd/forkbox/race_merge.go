package main

import (
	"maps"

	"github.com/forkbox/forkbox"
)

// merge has the words of a race file count as if they were flags, where no flag
// says otherwise.
func (f *raceFlags) merge(start forkbox.RaceStart) {
	if f.box.from == "" && f.box.template == "" {
		f.box.from, f.box.template = start.From, start.Template
	}
	f.box.hidden = append(f.box.hidden, start.AllowSecrets...)
	f.mergeLimits(start.Wish)
	f.box.net.merge(start.Net, start.NetWish)
}

func (f *raceFlags) mergeLimits(wish forkbox.Wish) {
	limits := maps.Clone(wish.Limits)
	if limits == nil {
		limits = forkbox.Limits{}
	}
	maps.Copy(limits, f.box.limits.limits)
	f.box.limits.limits = limits
	if f.box.limits.effort == "" && wish.BestEffort {
		f.box.limits.effort = "best-effort"
	}
	if f.box.limits.priority == "" {
		f.box.limits.priority = limitPriority(wish.Priority)
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
