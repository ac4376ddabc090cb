// Package flags is what is asked of a box that is made: flags, the project's
// forkbox.yaml, and what it is made from.
package flags

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// Box are those of the verbs that make a box.
type Box struct {
	Name     string
	From     string
	Template string
	Net      Net
	Instead  string   // where the box is made, if the current directory is gone
	Hidden   []string // what is not to be
	With     []string // services
	pause    pauseTime
	letsIn   []int // known when it was asked for
	Limits   Limits
}

func (f *Box) Add(a *app.App, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "name", "", "name of the box; one is made up where none is given")
	flags.StringVar(&f.From, "from", "", "what to make it `from`: reality (if nothing is said), BOX@SNAPSHOT, oci:LAYOUT, tar:FILE, dir:DIR or empty")
	flags.StringVar(&f.Template, "template", "", "make it from this `template`")
	flags.StringArrayVar(&f.Hidden, "allow-secrets", nil, "do not hide this `path or variable` of this machine, although it looks like a credential (repeatable)")
	flags.StringSliceVar(&f.With, "with", nil, WithHelp)
	f.AddPause(cmd)
	f.Net.Add(a, cmd, "if nothing is said: policy")
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("from", a.CompleteOrigins)
	cmd.RegisterFlagCompletionFunc("with", a.CompleteServices)
	cmd.RegisterFlagCompletionFunc("template", a.CompleteTemplates(0))
	f.Limits.AddWait(cmd)
}

// WithHelp is what --with says of itself.
const WithHelp = "have copies of these `services` up in it, by name or port: db, web, 6379, all; none: not those of forkbox.yaml either"

// AddPause is for verbs that may copy the data of services.
func (f *Box) AddPause(cmd *cobra.Command) {
	cmd.Flags().Var(&f.pause, "pause", "how long a service of this machine may stand still while its data is copied (default 500ms)")
	cmd.RegisterFlagCompletionFunc("pause", cobra.NoFileCompletions)
}

// Warn tells of what is let into the box as it is: the host's network, or some of
// its services.
func (f *Box) Warn(a *app.App) {
	f.Net.Warn(a)
	if len(f.letsIn) > 0 && !a.JSON {
		a.Say("%s port %s in the box is this machine's own service: what the box does there is real", a.Paint(terminal.Yellow, "warning:"), terminal.JoinPorts(f.letsIn))
	}
}

// Request is the box to make. A fork of reality is one as the caller sees it:
// here, with this environment. Everything else brings its own.
func (f *Box) Request(ctx context.Context, a *app.App, c *client.Client) (api.CreateRequest, error) {
	req := api.CreateRequest{Name: f.Name, Template: f.Template, AllowSecrets: f.allowed(), Pause: f.pause.span}
	from, err := f.checkOrigin()
	if err == nil {
		req.With, req.Services, err = WithServices(f.With, !f.OwnPlace())
	}
	if err == nil {
		req.Wish, err = WithProject(f.Limits.Wish())
	}
	if err == nil {
		req.Net, req.NetWish, err = f.Net.Request(f.inherits(), true)
		f.letsIn = req.NetWish.AllLetIn()
	}
	switch {
	case err != nil || f.Template != "":
		return req, err
	case from.kind == forkbox.Reality && a.Away():
		// The home there, and what the daemon gives a user's programs.
	case from.kind == forkbox.Reality:
		if req.Dir, err = f.standing(); err != nil {
			return req, err
		}
		req.Env = os.Environ()
	}
	req.From, err = from.resolve(ctx, a, c)
	return req, err
}

// standing is the directory that the box is made in. One that was removed is
// nowhere: another in its place would make other files the workspace.
func (f *Box) standing() (string, error) {
	dir, err := os.Getwd()
	switch {
	case err == nil:
		return AsText(dir)
	case f.Instead != "":
		return f.Instead, nil
	}
	return "", forkbox.Errorf(forkbox.Invalid, "find the current directory", "it does not exist any more").
		Hint("go to one that does: cd DIR")
}

// inherits says whether the box will be made of another, and have its network.
func (f *Box) inherits() bool {
	return f.Template != "" || strings.Contains(f.From, "@")
}

// OwnPlace says whether the box will have a directory and an environment of its
// own.
func (f *Box) OwnPlace() bool {
	return f.Template != "" || f.From != "" && f.From != forkbox.Reality
}

// allowed makes paths absolute; the daemon does not know where they were said.
// What has no slash and no dot in front is the name of a variable.
func (f *Box) allowed() []string {
	list := make([]string, len(f.Hidden))
	for i, secret := range f.Hidden {
		list[i] = secret
		if rest, ok := strings.CutPrefix(secret, "~/"); ok {
			home, _ := os.UserHomeDir()
			list[i] = filepath.Join(home, rest)
		} else if strings.HasPrefix(secret, ".") || strings.Contains(secret, "/") {
			list[i], _ = filepath.Abs(secret)
		}
	}
	return list
}

// AsText is a directory, as long as it can go through the API.
func AsText(dir string) (string, error) {
	if !utf8.ValidString(dir) {
		return "", forkbox.Errorf(forkbox.Unsupported, "run a command in "+terminal.Printable(dir), "the directory's name is not UTF-8").
			Hint("choose another with -w DIR, and go there in the command: sh -c 'cd …'")
	}
	return dir, nil
}

// Merge has the words of a race file count as if they were flags, where no flag
// says otherwise.
func (f *Box) Merge(start forkbox.RaceStart) {
	if f.From == "" && f.Template == "" {
		f.From, f.Template = start.From, start.Template
	}
	f.Hidden = append(f.Hidden, start.AllowSecrets...)
	if len(f.With) == 0 {
		f.With = start.With
	}
	f.mergeLimits(start.Wish)
	f.Net.merge(start.Net, start.NetWish)
}

func (f *Box) mergeLimits(wish forkbox.Wish) {
	limits := maps.Clone(wish.Limits)
	if limits == nil {
		limits = forkbox.Limits{}
	}
	maps.Copy(limits, f.Limits.Limits)
	f.Limits.Limits = limits
	if f.Limits.Effort == "" && wish.BestEffort {
		f.Limits.Effort = "best-effort"
	}
	if f.Limits.priority == "" {
		f.Limits.priority = limitPriority(wish.Priority)
	}
}

// merge puts rules of a file behind those of flags: the first that matches
// decides. Flags that leave a box without a gate leave it without the file's
// rules as well.
func (f *Net) merge(net string, wish forkbox.NetWish) {
	if f.Net == "" {
		f.Net = net
	}
	if f.ungated() && net != f.Net {
		return
	}
	if f.preset == "" {
		f.preset = netPreset(wish.Preset)
	}
	f.Rules = append(f.Rules, wish.Rules...)
	f.hostPorts = append(f.hostPorts, wish.HostPorts...)
	f.letIn = append(f.letIn, wish.LetIn...)
	f.secrets = append(f.secrets, wish.Secrets...)
	f.terminate = append(f.terminate, wish.Terminate...)
	f.pinned = append(f.pinned, wish.Pinned...)
}
