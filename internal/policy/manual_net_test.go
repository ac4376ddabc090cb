package policy

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

func networkManual(t *testing.T) string {
	page, err := os.ReadFile("../../docs/NETWORK.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func blocks(page, kind string) (all []string) {
	for _, block := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		all = append(all, block[1])
	}
	return all
}

// TestNetworkManualFiles: the files in the page for users can be read, and what
// it says is built in is.
func TestNetworkManualFiles(t *testing.T) {
	seen := map[string]int{}
	for _, text := range blocks(networkManual(t), "yaml") {
		head, _, _ := strings.Cut(text, "\n")
		seen[head]++
		if head == "# forkbox.yaml" {
			if read, err := parseProject("forkbox.yaml", []byte(text)); err != nil || len(read.Network.Wish.Rules) == 0 {
				t.Errorf("%s%+v, %v", text, read, err)
			}
			continue
		}
		c, err := parseConfig("config.yaml", []byte(text))
		if builtin := strings.HasSuffix(head, "what is built in"); err != nil || reflect.DeepEqual(c, Builtin()) != builtin {
			t.Errorf("%s%+v, %v", text, c.Network, err)
		}
	}
	if want := map[string]int{"# forkbox.yaml": 1, "# config.yaml": 1, "# config.yaml: what is built in": 1}; !reflect.DeepEqual(seen, want) {
		t.Error(seen)
	}
	for _, said := range []string{"default: policy", "preset: balanced", "{host-ports: false, secrets: false, private: false}"} {
		if !strings.Contains(networkManual(t), said) {
			t.Errorf("the page does not say %q", said)
		}
	}
}

// TestNetworkManualProject: what the page says a project cannot do by itself it
// cannot, and what it says to type helps.
func TestNetworkManualProject(t *testing.T) {
	text := blocks(networkManual(t), "yaml")[0]
	read, err := parseProject("forkbox.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	wish := forkbox.NetWish{Project: &read.Network.Wish, ProjectFile: "forkbox.yaml"}
	if _, err := rules.Resolve(wish, rules.Host{}); forkbox.CodeOf(err) != forkbox.Denied {
		t.Error(err)
	}
	wish.HostPorts, wish.Secrets = []int{5432}, []string{"API_TOKEN"}
	if _, err := rules.Resolve(wish, rules.Host{}); err != nil {
		t.Error(err)
	}
}

// TestNetworkManualRules: all rules in the page are such, and those in the list
// are in their one way of writing.
func TestNetworkManualRules(t *testing.T) {
	page := networkManual(t)
	n := 0
	for line := range strings.Lines(strings.Join(blocks(page, "rules"), "")) {
		text, _, _ := strings.Cut(line, "#")
		text = strings.TrimSpace(text)
		if r, err := rules.Parse(text); err != nil || r.String() != text {
			t.Errorf("%s: %q, %v", text, r, err)
		}
		n++
	}
	for _, found := range regexp.MustCompile(`--(allow|deny) ('[^']+'|[a-z0-9.:*/-]+)`).FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(found[2], "'") || strings.Contains(found[2], ".") {
			parses(t, found[1]+" "+strings.Trim(found[2], "'"))
			n++
		}
	}
	for _, found := range regexp.MustCompile(`forkbox net (allow|deny) try '([^']+)'`).FindAllStringSubmatch(page, -1) {
		parses(t, found[1]+" "+found[2])
		n++
	}
	for _, found := range regexp.MustCompile("`((?:allow|deny) [^`]+)`").FindAllStringSubmatch(page, -1) {
		parses(t, found[1])
		n++
	}
	if n < 25 {
		t.Errorf("only %d rules were found", n)
	}
}

func parses(t *testing.T, text string) {
	t.Helper()
	if _, err := rules.Parse(text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// TestNetworkManualWords: presets and kinds of network each have their row, and
// the page's claims about addresses are true.
func TestNetworkManualWords(t *testing.T) {
	page := networkManual(t)
	for _, word := range []string{forkbox.PresetLocked, forkbox.PresetBalanced, forkbox.PresetOpen, string(forkbox.NetNone), string(forkbox.NetPolicy), string(forkbox.NetHost)} {
		if !strings.Contains(page, "\n| `"+word+"` | ") {
			t.Errorf("%s is not explained", word)
		}
	}
	for _, odd := range []string{"0177.0.0.1", "0x7f.1", "2130706433"} {
		if _, err := rules.Parse("allow " + odd); err == nil || !strings.Contains(page, "`"+odd+"`") {
			t.Errorf("%s: %v", odd, err)
		}
	}
	if !strings.Contains(page, forkbox.HostName) || rules.MostText != 1024 || rules.MostRules != 1000 {
		t.Error("the page says something else")
	}
}
