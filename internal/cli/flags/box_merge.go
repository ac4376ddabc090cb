package flags

import (
	"maps"

	"github.com/forkbox/forkbox"
)

// Merge has the words of a race file count as if they were flags, where no flag
// says otherwise.
func (f *Box) Merge(start forkbox.RaceStart) {
	if f.From == "" && f.Template == "" {
		f.From, f.Template = start.From, start.Template
	}
	f.Hidden = append(f.Hidden, start.AllowSecrets...)
	f.mergeLimits(start.Wish)
	f.Net.merge(start.Net, start.NetWish)
}

func (f *Box) mergeLimits(wish forkbox.Wish) {
	limits := maps.Clone(wish.Limits)
	if limits == nil {
		limits = forkbox.Limits{}
	}
	maps.Copy(limits, f.Limits.Limits)
	f.Limits.Limits = limits
	if f.Limits.Effort == "" && wish.BestEffort {
		f.Limits.Effort = "best-effort"
	}
	if f.Limits.priority == "" {
		f.Limits.priority = limitPriority(wish.Priority)
	}
}

// merge puts rules of a file behind those of flags: the first that matches
// decides. Flags that leave a box without a gate leave it without the file's
// rules as well.
func (f *Net) merge(net string, wish forkbox.NetWish) {
	if f.Net == "" {
		f.Net = net
	}
	if f.ungated() && net != f.Net {
		return
	}
	if f.preset == "" {
		f.preset = netPreset(wish.Preset)
	}
	f.Rules = append(f.Rules, wish.Rules...)
	f.hostPorts = append(f.hostPorts, wish.HostPorts...)
	f.secrets = append(f.secrets, wish.Secrets...)
	f.terminate = append(f.terminate, wish.Terminate...)
	f.pinned = append(f.pinned, wish.Pinned...)
}
