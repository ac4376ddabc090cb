package flags

import (
	"io"
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func parseNet(t *testing.T, args ...string) (*Net, error) {
	t.Helper()
	var f Net
	a := app.New("", nil, io.Discard, io.Discard)
	cmd := &cobra.Command{Use: "new"}
	f.Add(a, cmd, "")
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
