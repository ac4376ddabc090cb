package config

import (
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/policy"
)

// serviceKeys are what a project's file says of services of the machine.
func serviceKeys() []*Key {
	text := map[string]any{"type": []string{"string", "number"}}
	port := map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}
	list := map[string]any{"type": []string{"array", "string", "number", "null"}, "items": text}
	one := func(key, doc string, kind Kind) *Key {
		k := projectKey("services.NAME."+key, doc, kind, nil)
		k.get = func(s *Settings, name string) string { return s.Project.Services.Text(name, key) }
		return k
	}
	with := projectKey("with", "services that boxes made in the project have copies of, by name or port", Kind{"list of services", "[db, 6379]", list},
		func(p policy.Project) string { return listText(p.Services.With) })
	with.Flag = "new --with"
	letIn := projectKey("let_in", "ports of the host's own services that boxes reach on their own loopback; needs your or the host's owner's agreement",
		listKind("ports", "[5432]", port), func(p policy.Project) string { return portsText(p.LetIn) })
	letIn.Flag = "new --let-in"
	pause := one("max_pause", "for how long it may stand still while its data is copied, at most 500ms", spanKind("500ms"))
	pause.Flag = "new --pause"
	return []*Key{
		with, letIn, wholeService(),
		one("match.port", "the service is the one that listens there; or, where it is not found and has a start, where its copy will", Kind{"port", "5432", port}),
		one("match.name", "it is the one of that name or recipe in forkbox services", Kind{"name", "postgresql", text}),
		one("match.data", "it is the one that keeps its data there", Kind{"path", "/var/lib/postgresql/15/main", text}),
		one("match.unit", "it is the one that systemd calls so", Kind{"unit", "postgresql@15-main.service", text}),
		one("data", "what is copied, instead of what is found", Kind{"auto, or list of paths", "[uploads, /var/lib/app]", map[string]any{
			"anyOf": []any{map[string]any{"type": "string", "enum": []string{"auto"}}, map[string]any{"type": "array", "items": text}}}}),
		one("copy", "how, instead of the best way that works; none copies nothing", wordKind(append([]string{"auto", forkbox.CopyNone}, forkbox.CopyWays...)...)),
		pause,
		one("max_stale", "how old the data may be that a box begins with", spanKind("15m")),
		one("start", "a line for sh that starts the copy, instead of the service's own command; what has one need not run on the machine", Kind{"command", "npm run dev", text}),
		one("ready.exec", "a line for sh that succeeds when the copy answers", Kind{"command", "pg_isready -q", text}),
		one("ready.within", "how long that may take", spanKind("30s")),
		one("after", "services that have to be ready first; they come along", Kind{"list of services", "[db]", list}),
		one("settle.run", "a line for sh that is run once for each copy of the data, before any box has it", Kind{"command", "psql -v ON_ERROR_STOP=1 -f mask.sql", text}),
	}
}

// wholeService finds what makes no sense together. What is wrong with one key is
// for that to say.
func wholeService() *Key {
	return &Key{
		Name: "services.NAME", Of: OfProject, Kind: Kind{Word: "keys below"}, Live: true,
		Doc: "what holds for one service, under the name that `with` and `after` know it by",
		set: func(s *Settings, at Place, n *yaml.Node) error {
			one := policy.NoProject()
			if err := one.Set(at.From, at.Key, n); err != nil {
				return nil
			}
			before := maps.Clone(s.Project.Services.Settings)
			maps.Copy(one.Services.Settings, before)
			if err := one.CheckServices(at.From, at.Key, n); err != nil {
				return err
			}
			return s.Project.Set(at.From, at.Key, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line})
		},
		get: func(*Settings, string) string { return "" },
	}
}
