package config

import (
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/policy"
)

// admissionKeys say when nothing new starts, and what the host keeps for itself.
func admissionKeys() []*Key {
	keys := []*Key{
		policyKey("admission.running", "how many boxes run at once", with(limitKind(forkbox.Inodes), "64"), true,
			func(c policy.Config, _ string) string { return amountText(forkbox.Inodes, int64(c.Admission.Running)) }),
		policyKey("admission.memory", "what the memory limits of boxes that run may add up to", Kind{"size, or share of the whole", "90%", textOrNumber(sizePattern, sharePattern, unlimited)}, true,
			func(c policy.Config, _ string) string { return c.Admission.Memory.String() }),
		policyKey("admission.cpus", "what their limits of processors may add up to", limitKind(forkbox.CPUs), true,
			func(c policy.Config, _ string) string { return amountText(forkbox.CPUs, c.Admission.CPUs) }),
	}
	for _, what := range []string{"cpu", "memory", "io"} {
		keys = append(keys, policyKey("admission.pressure."+what, "the part of the last ten seconds, in percent, in which some process waited for "+waitsFor[what]+", above which nothing new starts",
			Kind{"percentage, or off", "60", textOrNumber(`[0-9]+(\.[0-9]+)?%?`, "off")}, true, func(c policy.Config, _ string) string { return pressureText(c, what) }))
	}
	wait := policyKey("admission.wait", "how long a caller waits for a place who says nothing else", spanKind("1m"), false, func(c policy.Config, _ string) string {
		if c.Admission.Wait == 0 {
			return "0"
		}
		return forkbox.FormatLimit(forkbox.Timeout, int64(c.Admission.Wait))
	})
	wait.Flag = "new --wait"
	return append(keys, wait,
		policyKey("reserve.memory", "memory that the host keeps for itself", shareKind(), true, func(c policy.Config, _ string) string { return keptText(c.Reserve.Memory) }),
		policyKey("reserve.disk", "disk that it keeps for itself, and the same part of the inodes", shareKind(), true, func(c policy.Config, _ string) string { return keptText(c.Reserve.Disk) }))
}

var waitsFor = map[string]string{"cpu": "a processor", "memory": "memory", "io": "a disk"}

func pressureText(c policy.Config, what string) string {
	if most, counts := c.Admission.Pressure[what]; counts {
		return strconv.FormatFloat(most, 'f', -1, 64)
	}
	return "off"
}

func keptText(s policy.Share) string {
	if s == (policy.Share{}) {
		return "0"
	}
	return s.String()
}

// shareKind is what can be set aside.
func shareKind() Kind {
	size := textOrNumber(sizePattern)
	bounded := map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"share"},
		"properties": map[string]any{"share": map[string]any{"type": "string", "pattern": pattern(sharePattern)}, "least": size, "most": size},
	}
	return Kind{"size, share, or share with bounds", "{share: 5%, least: 256m, most: 2g}", map[string]any{"anyOf": []any{textOrNumber(sizePattern, sharePattern, unlimited), bounded}}}
}

func rulesKind() Kind {
	return listKind("rules", `["allow git.example.com:443"]`, map[string]any{"type": "string", "pattern": "^(allow|deny) "})
}

// networkKeys are what boxes may reach, as far as the host has a say in it.
func networkKeys() []*Key {
	net := func(name, doc string, kind Kind, binds bool, get func(policy.Network) string) *Key {
		return policyKey("network."+name, doc, kind, binds, func(c policy.Config, _ string) string { return get(c.Network) })
	}
	mode := net("default", "the network of boxes for which none was chosen", wordKind("none", "policy"), false, func(n policy.Network) string { return string(n.Default) })
	mode.Flag = "new --net"
	preset := net("preset", "what boxes may reach for which no preset was chosen", wordKind("locked", "balanced", "open"), false, func(n policy.Network) string { return n.Preset })
	preset.Flag = "new --net-preset"
	dns := net("dns", "where names are resolved, instead of the host's resolvers", listKind("addresses", "[192.0.2.53]", map[string]any{"type": "string"}), false, dnsText)
	urls := net("urls", "the loopback address that forkbox open serves at; 127.0.0.1:7357 or any free port if nothing is said",
		Kind{"loopback address with a port", `"127.0.0.1:7357"`, map[string]any{"type": "string"}}, false, func(n policy.Network) string { return n.URLs })
	dns.Live, urls.Live = false, false
	return []*Key{
		net("floor.rules", "the host's floor: has to allow whatever any box reaches; no floor if nothing is said", rulesKind(), true, floorText),
		mode, preset, dns, urls,
		net("project.host-ports", "whether a project's file may open ports of the host by itself", yesKind(), false, func(n policy.Network) string { return strconv.FormatBool(n.Project.HostPorts) }),
		net("project.secrets", "whether it may use secrets by itself", yesKind(), false, func(n policy.Network) string { return strconv.FormatBool(n.Project.Secrets) }),
		net("project.private", "whether it may allow addresses that are not public by itself", yesKind(), false, func(n policy.Network) string { return strconv.FormatBool(n.Project.Private) }),
	}
}

func floorText(n policy.Network) string {
	var rules []string
	for _, r := range n.Floor {
		rules = append(rules, r.Rule)
	}
	return listText(rules)
}

func dnsText(n policy.Network) string {
	var servers []string
	for _, at := range n.DNS {
		servers = append(servers, at.String())
	}
	return listText(servers)
}

func portsText(ports []int) string {
	var texts []string
	for _, port := range ports {
		texts = append(texts, strconv.Itoa(port))
	}
	return listText(texts)
}

// quoteName is a name of a user's as it stands in a key.
func quoteName(name string) string {
	if strings.ContainsAny(name, ".*\"") {
		return strconv.Quote(name)
	}
	return name
}
