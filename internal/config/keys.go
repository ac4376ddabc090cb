package config

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/policy"
	"github.com/forkbox/forkbox/internal/retention"
)

// allKeys is the table.
func allKeys() []*Key {
	return slices.Concat(daemonKeys(), seenKeys(), serveKeys(), retentionKeys(), limitKeys(), userKeys(), admissionKeys(), networkKeys(), projectKeys())
}

// own is a row whose value has a field of its own in Settings.
func own(name, doc string, k kind, more Key) *Key {
	more.Name, more.Of, more.Doc, more.Kind, more.set, more.get = name, OfConfig, doc, k.Kind, k.set, k.get
	return &more
}

// daemonKeys are about the daemon itself.
func daemonKeys() []*Key {
	return []*Key{
		own("serve.idle", "how long a daemon that another verb started stays with nothing to do",
			durationOrNever(func(s *Settings) *time.Duration { return &s.Serve.Idle }, "10m"), Key{Env: "FORKBOX_IDLE", Flag: "serve --idle"}),
		own("log.level", "how much the daemon logs",
			word(func(s *Settings) *string { return &s.Log.Level }, "debug", "info", "warn", "error"), Key{Env: "FORKBOX_LOG", Live: true}),
		own("undo.age", "how long what an apply replaced is kept for undo",
			duration(func(s *Settings) *time.Duration { return &s.Undo.Age }, "14d"), Key{Env: "FORKBOX_UNDO_AGE", Live: true}),
		own("undo.size", "how many bytes of it are kept, of all applies together; the last apply's always are",
			size(func(s *Settings) *int64 { return &s.Undo.Size }, "10g"), Key{Env: "FORKBOX_UNDO_SIZE", Live: true}),
		own("store.layers", "what keeps layers; the best that works here if nothing is said",
			word(func(s *Settings) *string { return &s.Store.Layers }, "overlay", "btrfs", "reflink", "copy"), Key{Env: "FORKBOX_LAYERS"}),
		own("store.ledger", "what keeps the record of boxes and of all that happens to them",
			word(func(s *Settings) *string { return &s.Store.Ledger }, "sqlite"), Key{}),
		own("serve.provider", "what isolates boxes; a store has boxes of one provider",
			word(func(s *Settings) *string { return &s.Serve.Provider }, "native"), Key{}),
	}
}

// retentionEnv has the whole policy in one text, and so is of no single key.
const retentionEnv = "FORKBOX_RETENTION"

// retentionKeys are those of package retention, which reads their values.
func retentionKeys() (keys []*Key) {
	for _, name := range retention.Keys() {
		k := &Key{
			Name: "retention." + name, Of: OfConfig, Kind: Kind{"age, or never", "7d", map[string]any{"type": "string", "pattern": pattern(`([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?`, "never")}},
			Doc: "how long after its last use a box stays that " + became[name], Env: retentionEnv, Live: true,
			get: func(s *Settings, _ string) string { return s.Retention.Get(name) },
			set: func(s *Settings, _ Place, n *yaml.Node) error {
				text, err := scalar(n)
				if err != nil {
					return err
				}
				return s.Retention.Set(name, text)
			},
		}
		if name == "max-size" {
			k.Doc, k.Kind = "how many bytes all boxes together may take; the least recently used go first", Kind{"size", "50G", textOrNumber(`[0-9]+[KMGT]?`)}
		}
		keys = append(keys, k)
	}
	return keys
}

// became is what became of the boxes that a retention is for.
var became = map[string]string{
	"applied": "was applied and has nothing left", "discarded": "was discarded", "lost": "lost its race",
	"failed": "changed nothing, and whose last command failed", "untouched": "changed nothing, and in which nothing failed",
	"unreviewed": "has changes that were neither applied nor discarded; counts only for forkbox gc --unreviewed",
}

// limitKeys are the host's floor, and what boxes get of which nothing was said.
func limitKeys() (keys []*Key) {
	for _, r := range forkbox.Resources {
		keys = append(keys, policyKey("limits."+string(r), "at most, for one box: "+words(r), limitKind(r), true,
			func(c policy.Config, _ string) string { return limitText(c.Limits, r) }))
	}
	for _, r := range forkbox.Resources {
		k := policyKey("defaults."+string(r), "for boxes of which nothing is said: "+words(r), limitKind(r), false,
			func(c policy.Config, _ string) string { return limitText(c.Defaults, r) })
		k.Flag = "new --" + string(r)
		keys = append(keys, k)
	}
	return keys
}

// words are what a limit is of: the help of its flag, without the example.
func words(r forkbox.Resource) string {
	help := r.Info().Help
	if at := strings.LastIndex(help, ": "); at > 0 {
		return help[:at]
	}
	return help
}

// policyKey is a row of which package policy reads the value.
func policyKey(name, doc string, kind Kind, binds bool, get func(policy.Config, string) string) *Key {
	return &Key{
		Name: name, Of: OfConfig, Doc: doc, Kind: kind, Live: true, Binds: binds,
		set: func(s *Settings, at Place, n *yaml.Node) error { return s.Policy.Set(at.From, at.Key, n) },
		get: func(s *Settings, name string) string { return get(s.Policy, name) },
	}
}

func limitText(l forkbox.Limits, r forkbox.Resource) string {
	if v, has := l[r]; has {
		return forkbox.FormatLimit(r, v)
	}
	return ""
}

// userKeys are what a user's boxes may use: each of them, and all together.
func userKeys() (keys []*Key) {
	keys = append(keys, &Key{
		Name: "users.NAME", Of: OfConfig, Kind: Kind{Word: "limits and quota"}, Live: true, Binds: true,
		Doc: `what holds for one user, by name or uid, or "*" for everybody who is not named`,
		set: func(s *Settings, at Place, n *yaml.Node) error {
			return s.Policy.Set(at.From, at.Key, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line})
		},
		get: func(*Settings, string) string { return "" },
	})
	for _, r := range forkbox.Resources {
		keys = append(keys, policyKey("users.NAME.limits."+string(r), "at most, for one box of the user: "+words(r), limitKind(r), true,
			func(c policy.Config, name string) string { return limitText(c.Users[name].Limits, r) }))
	}
	quota := func(name, doc, example string, like forkbox.Resource, of func(policy.Quota) int64) {
		keys = append(keys, policyKey("users.NAME.quota."+name, doc, with(limitKind(like), example), true, func(c policy.Config, user string) string {
			return amountText(like, of(c.Users[user].Quota))
		}))
	}
	quota("boxes", "how many boxes the user may have", "50", forkbox.Inodes, func(q policy.Quota) int64 { return int64(q.Boxes) })
	quota("running", "how many of them may run at once", "8", forkbox.Inodes, func(q policy.Quota) int64 { return int64(q.Running) })
	quota("memory", "memory of all that run, by their limits", "16g", forkbox.Memory, func(q policy.Quota) int64 { return q.Memory })
	quota("cpus", "processors of all that run, by their limits", "4", forkbox.CPUs, func(q policy.Quota) int64 { return q.CPUs })
	quota("disk", "disk of all there are, by their limits", "200g", forkbox.Disk, func(q policy.Quota) int64 { return q.Disk })
	return keys
}

// amountText is a limit of several boxes together: 0 is none.
func amountText(like forkbox.Resource, v int64) string {
	if v == 0 {
		return ""
	}
	return forkbox.FormatLimit(like, v)
}

// projectKeys are what a project's file asks for.
func projectKeys() (keys []*Key) {
	for _, r := range forkbox.Resources {
		k := projectKey("limits."+string(r), "for boxes made in the project: "+words(r), limitKind(r), func(p policy.Project) string { return limitText(p.Limits, r) })
		k.Flag = "new --" + string(r)
		keys = append(keys, k)
	}
	host := map[string]any{"type": "string"}
	net := func(name, doc, flag string, kind Kind, get func(policy.ProjectNetwork) string) {
		k := projectKey("network."+name, doc, kind, func(p policy.Project) string { return get(p.Network) })
		k.Flag = flag
		keys = append(keys, k)
	}
	net("net", "the network of boxes made in the project", "new --net", wordKind("none", "policy"), func(n policy.ProjectNetwork) string { return string(n.Mode) })
	net("preset", "what they may reach beside the rules", "new --net-preset", wordKind("locked", "balanced", "open"), func(n policy.ProjectNetwork) string { return n.Wish.Preset })
	net("rules", "what they may and may not reach", "new --allow", rulesKind(), func(n policy.ProjectNetwork) string { return listText(n.Wish.Rules) })
	net("host-ports", "ports of the host's loopback that they want to reach; needs your or the host's owner's agreement", "new --host-port",
		listKind("ports", "[5432]", map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}), func(n policy.ProjectNetwork) string { return portsText(n.Wish.HostPorts) })
	net("secrets", "secrets that they want to use; needs the same", "new --secret", listKind("names", "[API_TOKEN]", host), func(n policy.ProjectNetwork) string { return listText(n.Wish.Secrets) })
	net("terminate", "hosts whose TLS the gate looks into", "new --terminate", listKind("hosts", "[api.example.com]", host), func(n policy.ProjectNetwork) string { return listText(n.Wish.Terminate) })
	net("pinned", "hosts whose TLS it never looks into", "new --pinned", listKind("hosts", "[bank.example.com]", host), func(n policy.ProjectNetwork) string { return listText(n.Wish.Pinned) })
	return append(keys, serviceKeys()...)
}

func projectKey(name, doc string, kind Kind, get func(policy.Project) string) *Key {
	return &Key{
		Name: name, Of: OfProject, Doc: doc, Kind: kind, Live: true,
		set: func(s *Settings, at Place, n *yaml.Node) error { return s.Project.Set(at.From, at.Key, n) },
		get: func(s *Settings, _ string) string { return get(s.Project) },
	}
}

// listText is a list as YAML has it on one line, "" where it is empty.
func listText(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ", ") + "]"
}
