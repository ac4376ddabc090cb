package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/network/toolhosts"
	"github.com/spf13/cobra"
)

var presets = []string{forkbox.PresetLocked, forkbox.PresetBalanced, forkbox.PresetOpen}

// Net are those of the verbs that make a box: what it may reach.
type Net struct {
	Net       string
	preset    netPreset
	Rules     []string // "allow X" and "deny X", as they were said
	hostPorts PortsValue
	letIn     PortsValue
	secrets   secretsValue
	terminate []string
	pinned    []string
}

// Add is told what a box has if nothing is said.
func (f *Net) Add(a *app.App, cmd *cobra.Command, otherwise string) {
	flags := cmd.Flags()
	flags.StringVar(&f.Net, "net", "", "`network`: none (loopback only), policy (what rules allow), host (shared with the host), or team:NAME, whose boxes reach each other ("+otherwise+")")
	flags.Var(&f.preset, "net-preset", "what may be reached beside --allow: locked (nothing), balanced (what this machine's tools are configured to use, and model APIs; if nothing is said) or open (every public address)")
	flags.Var(ruleValue{"allow", &f.Rules}, "allow", "let it reach this, for example git.example.com:443 or '*.example.org' (repeatable; the first of --allow and --deny that matches decides)")
	flags.Var(ruleValue{"deny", &f.Rules}, "deny", "do not let it reach this (repeatable)")
	flags.Var(&f.hostPorts, "host-port", "let it reach this port of the host's loopback, as "+forkbox.HostName+" (repeatable)")
	flags.Var(&f.letIn, "let-in", "let it reach this machine's own service on this port, on the same port of its own loopback (repeatable)")
	flags.Var(&f.secrets, "secret", "let it use this secret of forkbox secret set without seeing it (repeatable)")
	flags.StringArrayVar(&f.terminate, "terminate", nil, "look into the TLS of this `host`, with a certificate that only the box trusts (repeatable)")
	flags.StringArrayVar(&f.pinned, "pinned", nil, "never look into the TLS of this `host` (repeatable)")
	cmd.RegisterFlagCompletionFunc("net", a.CompleteNets)
	cmd.RegisterFlagCompletionFunc("net-preset", cobra.FixedCompletions(presets, app.NoFiles))
	cmd.RegisterFlagCompletionFunc("secret", a.CompleteSecrets(0))
	for _, name := range []string{"allow", "deny", "host-port", "let-in", "terminate", "pinned"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// wish is what was asked for. Rules for a box that no rule holds for are a
// mistake, not something to ignore.
func (f *Net) wish() (forkbox.NetWish, error) {
	wish := forkbox.NetWish{
		Preset: string(f.preset), Rules: f.Rules, HostPorts: f.hostPorts, LetIn: f.letIn, Secrets: f.secrets,
		Terminate: f.terminate, Pinned: f.pinned,
	}
	return wish, f.Check()
}

func (f *Net) Check() error {
	const op = "understand the network"
	said := f.said()
	switch {
	case f.ungated() && len(said) > 0:
		return forkbox.Errorf(forkbox.Invalid, op, "%s makes no sense with --net %s", strings.Join(said, ", "), f.Net).
			Hint("rules hold with --net policy, or in a team: --net team:NAME")
	case slices.Contains(presets, f.Net):
		// As the name of a team it would get the preset balanced, which may be
		// much more than was meant.
		return forkbox.Errorf(forkbox.Invalid, op, "%s is a preset, not a network", f.Net).Hint("say --net-preset %s", f.Net)
	}
	return nil
}

// ungated says that the box was asked to have no gate that rules could hold at.
func (f *Net) ungated() bool {
	return f.Net == string(forkbox.NetNone) || f.Net == string(forkbox.NetHost)
}

// said is the flags, but --net, that were given.
func (f *Net) said() (names []string) {
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--net-preset", f.preset != ""}, {"--allow or --deny", len(f.Rules) > 0}, {"--host-port", len(f.hostPorts) > 0},
		{"--let-in", len(f.letIn) > 0},
		{"--secret", len(f.secrets) > 0}, {"--terminate", len(f.terminate) > 0}, {"--pinned", len(f.pinned) > 0},
	} {
		if flag.given {
			names = append(names, flag.name)
		}
	}
	return names
}

// mode is what network to ask for. Who gives rules wants them to hold: a host
// that cannot do that has to say so. A box that is made of another has that
// one's network if nothing is said.
func (f *Net) mode(inherits bool) string {
	if f.Net == "" && !inherits && len(f.said()) > 0 {
		return string(forkbox.NetPolicy)
	}
	return f.Net
}

// Warn tells what --net host gives away.
func (f *Net) Warn(a *app.App) {
	if f.Net == string(forkbox.NetHost) && !a.JSON {
		a.Say("%s the box shares the host's network: it reaches all that this machine reaches, its own services included", a.Paint(terminal.Yellow, "warning:"))
	}
}

// TellNote says what a box that was just made has to tell, unless a warning has
// told it.
func TellNote(a *app.App, asked string, box forkbox.Box) {
	if box.Note != "" && asked != string(forkbox.NetHost) && !a.JSON {
		a.Say("note: %s: %s", terminal.Printable(box.Name), terminal.Printable(box.Note))
	}
}

// found is what the preset balanced consists of: the hosts that the tools of
// this machine are configured to use. It is looked up here, with the caller's
// rights, home and environment.
func found() []forkbox.NetRule {
	home, _ := os.UserHomeDir()
	return toolhosts.Find(toolhosts.Options{Home: home, Dir: place.Here().Dir, Env: os.Environ(), Root: "/"})
}

// withFound adds them where they may be needed. A box that is made of another
// has that one's, unless the preset is asked for anew.
func (f *Net) withFound(wish forkbox.NetWish, inherits bool) forkbox.NetWish {
	preset := wish.Preset
	if preset == "" && wish.Project != nil {
		preset = wish.Project.Preset
	}
	if !f.ungated() && (preset == forkbox.PresetBalanced || preset == "" && !inherits) {
		wish.Found = found()
	}
	return wish
}

// Request is what network to ask for: the mode, and what it is to reach.
// project says that the project's file counts.
func (f *Net) Request(inherits, project bool) (net string, wish forkbox.NetWish, err error) {
	if wish, err = f.wish(); err != nil {
		return "", wish, err
	}
	net = f.mode(inherits)
	if project && !f.ungated() {
		if net, wish, err = withProjectNet(net, wish, inherits); err != nil {
			return "", wish, err
		}
	}
	if net == string(forkbox.NetNone) { // the project's
		return net, forkbox.NetWish{}, nil
	}
	return net, f.withFound(wish, inherits), nil
}
