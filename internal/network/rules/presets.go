package rules

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

//go:embed presets.yaml
var presetsFile []byte

// presets reads the file once. It is part of the program, and a test reads it:
// what is wrong with it is found there.
var presets = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	if err := yaml.Unmarshal(presetsFile, &all); err != nil {
		panic(err)
	}
	return all
})

// CheckPreset says whether there is a preset of that name.
func CheckPreset(name string) error {
	if _, has := presets()[name]; has {
		return nil
	}
	return forkbox.Errorf(forkbox.Invalid, "use the preset", "there is none called %s", quoted(name)).
		Hint("there are %s", strings.Join(slices.Sorted(maps.Keys(presets())), ", "))
}

// Preset is the rules of a preset. Those of balanced begin with found: what
// this machine's tools are configured to use.
func Preset(name string, found []forkbox.NetRule) ([]forkbox.NetRule, error) {
	if err := CheckPreset(name); err != nil {
		return nil, err
	}
	var rules []forkbox.NetRule
	if name == forkbox.PresetBalanced {
		var err error
		if rules, err = foundRules(found); err != nil {
			return nil, err
		}
	}
	for _, text := range presets()[name] {
		r, err := read(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, forkbox.NetRule{Rule: r.text, From: "preset " + name})
	}
	return rules, nil
}

// foundRules are those that allow, each once. Whoever found them says where,
// but cannot say that somebody else wrote them.
func foundRules(found []forkbox.NetRule) ([]forkbox.NetRule, error) {
	const from = "preset " + forkbox.PresetBalanced
	var rules []forkbox.NetRule
	seen := map[string]bool{}
	for _, f := range found {
		r, err := read(f.Rule)
		switch text := r.text; {
		case err != nil:
			return nil, err
		case !r.Allow:
			return nil, forkbox.Errorf(forkbox.Invalid, "use the preset "+forkbox.PresetBalanced, "%s was found, and only what is allowed can be", quoted(text))
		case !seen[text]:
			seen[text] = true
			where := strings.TrimPrefix(strings.TrimPrefix(f.From, from), ": ")
			rules = append(rules, forkbox.NetRule{Rule: text, From: joined(from, where)})
		}
	}
	return rules, nil
}

// joined is who wrote a rule, in one line whatever the name of the file.
func joined(from, where string) string {
	if where == "" {
		return from
	}
	return from + ": " + oneLine(where)
}

// oneLine is a text as it is where that is one line of letters, else quoted.
func oneLine(text string) string {
	if q := strconv.QuoteToGraphic(text); q[1:len(q)-1] != text {
		return q
	}
	return text
}
