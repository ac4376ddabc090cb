package apitest

import "strings"

// schema is a JSON schema, as far as the document uses them.
type schema map[string]any

// mostDeep bounds documents of types that hold themselves.
const mostDeep = 6

// sample draws a value that a schema allows.
func (a *Attacker) sample(s schema, deep int) any {
	if ref, ok := s["$ref"].(string); ok {
		return a.sample(document().Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")], deep+1)
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		if all, ok := s[word].([]any); ok {
			return a.sample(all[a.IntN(len(all))].(map[string]any), deep+1)
		}
	}
	if all, ok := s["enum"].([]any); ok {
		return all[a.IntN(len(all))]
	}
	switch kindOf(s) {
	case "object":
		return a.sampleObject(s, deep)
	case "array":
		list := []any{}
		items, ok := s["items"].(map[string]any)
		for range a.IntN(3) {
			if ok && deep < mostDeep {
				list = append(list, a.sample(items, deep+1))
			}
		}
		return list
	case "integer", "number":
		return a.IntN(9)
	case "boolean":
		return a.IntN(2) == 0
	case "string":
		if s["format"] == "date-time" {
			return "2026-01-31T12:00:00Z"
		}
		return a.pick("x", "b", "x/y", "1", "true", "none")
	}
	return nil
}

func (a *Attacker) sampleObject(s schema, deep int) any {
	doc := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range keysOf(properties) {
		if deep < mostDeep && a.IntN(2) == 0 {
			doc[name] = a.sample(properties[name].(map[string]any), deep+1)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok && deep < mostDeep {
		doc["x"] = a.sample(more, deep+1)
	}
	return doc
}

// kindOf is the type that a schema has; of several the one that is not null.
func kindOf(s schema) string {
	switch kind := s["type"].(type) {
	case string:
		return kind
	case []any:
		for _, one := range kind {
			if one != "null" {
				return one.(string)
			}
		}
	}
	return ""
}
