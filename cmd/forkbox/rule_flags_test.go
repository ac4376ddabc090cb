package main

import (
	"io"
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/spf13/cobra"
)

func parseNet(t *testing.T, args ...string) (*netFlags, error) {
	t.Helper()
	var f netFlags
	a := newApp(nil)
	a.stderr = io.Discard
	cmd := &cobra.Command{Use: "new"}
	f.add(a, cmd, "")
	return &f, cmd.ParseFlags(args)
}

// TestRulesKeepTheirOrder between --allow and --deny: the first that matches
// decides.
func TestRulesKeepTheirOrder(t *testing.T) {
	f, err := parseNet(t, "--deny", "a.example", "--allow", "*.example:443", "--deny=B.example.", "--allow", "GET,HEAD c.example/x/**",
		"--host-port", "80", "--host-port", "80", "--host-port", "5432", "--secret", "B", "--secret", "A", "--secret", "B",
		"--terminate", "t.example", "--pinned", "p.example", "--net-preset", "open")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.wish()
	want := forkbox.NetWish{
		Preset: "open", Rules: []string{"deny a.example", "allow *.example:443", "deny b.example", "allow GET,HEAD c.example/x/**"},
		HostPorts: []int{80, 5432}, Secrets: []string{"B", "A"}, Terminate: []string{"t.example"}, Pinned: []string{"p.example"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

// TestWhatIsAskedFor: who gives rules relies on them, so that a policy is asked
// for, and not just had where the host can; but a box that is made of another
// has that one's network.
func TestWhatIsAskedFor(t *testing.T) {
	for _, row := range []struct {
		args     []string
		inherits bool
		want     string
	}{
		{nil, false, ""}, {nil, true, ""}, {[]string{"--allow", "a.example"}, false, "policy"}, {[]string{"--allow", "a.example"}, true, ""},
		{[]string{"--secret", "A"}, false, "policy"}, {[]string{"--net", "crew", "--allow", "a.example"}, false, "crew"}, {[]string{"--net", "none"}, true, "none"},
	} {
		f, err := parseNet(t, row.args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.mode(row.inherits); got != row.want {
			t.Errorf("%v %v: %q", row.args, row.inherits, got)
		}
	}
}

func TestPublishedPort(t *testing.T) {
	for text, want := range map[string]forkbox.Port{"3000": {Box: 3000}, "3000:80": {Box: 3000, Host: 80}, "1:65535": {Box: 1, Host: 65535}} {
		if got, err := parsePublished(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, bad := range []string{"", ":", "0", "3000:0", "3000:", ":80", "65536", "-1", "+1", "0x50", "80/tcp", "1:2:3", " 80", "8 0"} {
		if got, err := parsePublished(bad); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %+v %v", bad, got, err)
		}
	}
}

// TestRuleByEitherName: a rule is found by what it is about, although allow and
// deny take different things for granted.
func TestRuleByEitherName(t *testing.T) {
	rules := []forkbox.NetRule{
		{Rule: "allow a.example:443", From: "box"}, {Rule: "deny tcp:b.example", From: "box"}, {Rule: "allow b.example", From: "box"},
		{Rule: "allow c.example", From: "preset open"}, {Rule: "deny a.example:443", From: "box"},
	}
	for text, want := range map[string][]string{
		"a.example:443": {"allow a.example:443", "deny a.example:443"}, "deny a.example:443": {"deny a.example:443"},
		"tcp:b.example": {"deny tcp:b.example", "allow b.example"}, "B.example.": {"allow b.example"}, "c.example": nil, "allow  c.example": nil,
	} {
		spellings, err := eitherRule(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := ownRules(rules, spellings); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
