package config

import (
	"maps"
	"strings"
)

// Schema is the JSON Schema of a file, so that editors complete it. It knows the
// keys and how values look; what only a reader can tell, such as whether a rule
// makes sense, is for `forkbox config validate`.
func Schema(of Of) map[string]any {
	s := table().top[of].schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "forkbox " + string(of)
	s["description"] = map[Of]string{
		OfConfig:  "What the daemon of forkbox goes by: /etc/forkbox/config.yaml, and the user's own.",
		OfProject: "What a project asks for its boxes.",
	}[of]
	return s
}

// schema is that of a mapping or of a value. A mapping without a value is empty.
func (l *level) schema() map[string]any {
	if l.key != nil && len(l.below) == 0 {
		return l.key.schema()
	}
	s := map[string]any{"type": []string{"object", "null"}, "additionalProperties": false}
	if l.key != nil {
		s["description"] = sentence(l.key.Doc)
	}
	if len(l.below) > 0 {
		properties := map[string]any{}
		for word, next := range l.below {
			properties[word] = next.schema()
		}
		s["properties"] = properties
	}
	if l.any != nil {
		s["additionalProperties"] = l.any.schema()
	}
	return s
}

func (k *Key) schema() map[string]any {
	s := maps.Clone(k.Kind.Schema)
	s["description"] = sentence(k.Doc)
	if text := k.Default(); text != "" {
		s["default"] = text
	}
	return s
}

// Default is what holds where nobody says anything, "" for nothing.
func (k *Key) Default() string {
	s := Builtin()
	return k.get(&s, "")
}

func sentence(text string) string {
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
