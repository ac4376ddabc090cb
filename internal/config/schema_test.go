package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// asJSON is a schema as an editor gets it.
func asJSON(t *testing.T, of Of) map[string]any {
	t.Helper()
	text, err := json.Marshal(Schema(of))
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaTakesWhatIsRead: an editor does not warn of what forkbox takes, and
// does of keys and values that it refuses.
func TestSchemaTakesWhatIsRead(t *testing.T) {
	schemas := map[Of]map[string]any{OfConfig: asJSON(t, OfConfig), OfProject: asJSON(t, OfProject)}
	for _, k := range Keys() {
		if why := against(t, schemas[k.Of], asFile(k, example(k))); why != "" {
			t.Errorf("%s: %s", k.Name, why)
		}
		wrong := asFile(k, "{surely: [no, value]}")
		if why := against(t, schemas[k.Of], wrong); why == "" {
			t.Errorf("the schema takes %s", wrong)
		}
		for _, text := range []string{"unlimited", "none", "never", "off", "0", "1.5", "2g", "1d12h", "90%"} {
			s := Builtin()
			text = asFile(k, text)
			if _, problems := read(k.Of, "x", []byte(text), &s); len(problems) > 0 {
				continue
			}
			if why := against(t, schemas[k.Of], text); why != "" {
				t.Errorf("forkbox takes %sand the schema does not: %s", text, why)
			}
		}
	}
	for text, of := range map[string]Of{"limit: {}\n": OfConfig, "limits: {mem: 1g}\n": OfConfig, "defaults: {}\n": OfProject, "users: {a: {b: 1}}\n": OfConfig} {
		if why := against(t, schemas[of], text); why == "" {
			t.Errorf("the schema takes %s", text)
		}
	}
}

// TestSchemaOfEmpty: a section without a word in it is one.
func TestSchemaOfEmpty(t *testing.T) {
	if why := against(t, asJSON(t, OfConfig), "limits:\nusers:\n  alice:\nnetwork: {dns: }\n"); why != "" {
		t.Error(why)
	}
}

// against says why a file is not as a schema wants it; it knows the words that
// ours use, and fails for others.
func against(t *testing.T, schema map[string]any, file string) string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(file), &value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return mismatch(t, schema, value)
}

func mismatch(t *testing.T, schema map[string]any, value any) string {
	t.Helper()
	for word, arg := range schema {
		why := ""
		switch word {
		case "$schema", "title", "description", "default", "properties": // properties go with what else there may be
		case "type":
			why = wrongType(arg, value)
		case "enum":
			if !slices.Contains(arg.([]any), value) {
				why = fmt.Sprintf("%v is none of %v", value, arg)
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
				why = fmt.Sprintf("%q does not match %s", text, arg)
			}
		case "minimum", "maximum":
			if n, ok := number(value); ok && (word == "minimum" && n < arg.(float64) || word == "maximum" && n > arg.(float64)) {
				why = fmt.Sprintf("%v is beyond the %s", value, word)
			}
		case "items":
			list, _ := value.([]any)
			for _, item := range list {
				why += mismatch(t, arg.(map[string]any), item)
			}
		case "required":
			m, isMap := value.(map[string]any)
			for _, name := range arg.([]any) {
				if _, has := m[name.(string)]; isMap && !has {
					why = "there is no " + name.(string)
				}
			}
		case "additionalProperties":
			why = wrongProperties(t, schema, arg, value)
		case "anyOf":
			why = "none of several kinds"
			for _, one := range arg.([]any) {
				if mismatch(t, one.(map[string]any), value) == "" {
					why = ""
				}
			}
		default:
			t.Fatalf("what is %q?", word)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func wrongProperties(t *testing.T, schema map[string]any, others, value any) string {
	m, _ := value.(map[string]any)
	known, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		next, has := known[name].(map[string]any)
		if !has {
			next, has = others.(map[string]any)
		}
		if !has {
			return name + " is not known"
		}
		if why := mismatch(t, next, m[name]); why != "" {
			return name + ": " + why
		}
	}
	return ""
}

func wrongType(arg, value any) string {
	wanted, ok := arg.([]any)
	if !ok {
		wanted = []any{arg}
	}
	_, isNumber := number(value)
	is := map[string]bool{"number": isNumber, "integer": isNumber}
	switch v := value.(type) {
	case nil:
		is["null"] = true
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
	case []any:
		is["array"] = true
	case map[string]any:
		is["object"] = true
	case float64:
		is["integer"] = v == math.Trunc(v)
	}
	for _, w := range wanted {
		if is[w.(string)] {
			return ""
		}
	}
	return fmt.Sprintf("%v is no %s", value, strings.Trim(fmt.Sprint(wanted), "[]"))
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
