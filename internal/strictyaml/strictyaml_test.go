package strictyaml

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestDocument(t *testing.T) {
	for text, want := range map[string]Fault{
		"a: 1\n": {}, "": {}, "# nothing\n": {}, "a: \uFFFD\n": {},
		"a: 1\n---\nb: 2\n": {2, "a second document begins here"},
		"a: 1\nb: \x01\n":   {2, `"\x01" is no text`},
		"a: 1\n\xff":        {2, `"\xff" is no text`},
		"a: 1\nb: [\n":      {2, "did not find expected node content"},
	} {
		top, fault := Document([]byte(text))
		if fault == nil {
			fault = &Fault{}
		}
		if *fault != want || top == nil && text == "a: 1\n" {
			t.Errorf("%q: %+v", text, *fault)
		}
	}
	if top, fault := Document([]byte("a: 1\n---\n")); top == nil || fault == nil {
		t.Errorf("what is before a second document: %v, %v", top, fault)
	}
}

func TestPairs(t *testing.T) {
	top, fault := Document([]byte("a: &x {b: 1}\n<<: *x\n<<: *x\n? [c]\n: 2\na: 3\n*x : 4\n"))
	if fault != nil || !IsMapping(top) {
		t.Fatal(fault)
	}
	var keys []string
	var faults []Fault
	for x, fault := range Pairs(top, func(n *yaml.Node) (*yaml.Node, bool) { return n, len(faults) < 3 }) {
		switch {
		case fault != nil:
			faults = append(faults, *fault)
		case x.IsMerge():
			keys = append(keys, "merge")
		default:
			keys = append(keys, x.Key.Value)
		}
	}
	if len(keys) != 3 || keys[0] != "a" || keys[1] != "merge" || keys[2] != "merge" {
		t.Error(keys)
	}
	if len(faults) != 3 || faults[0] != (Fault{4, "a key is a plain word"}) || faults[1] != (Fault{6, `"a" is there twice`}) || faults[2].Line != 7 {
		t.Error(faults)
	}
}
