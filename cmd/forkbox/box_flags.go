package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

// boxFlags are those of the verbs that make a box.
type boxFlags struct {
	name     string
	from     string
	template string
	net      netFlags
	instead  string   // where the box is made, if the current directory is gone
	hidden   []string // what is not to be
	limits   limitFlags
}

func (f *boxFlags) add(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the box; one is made up where none is given")
	flags.StringVar(&f.from, "from", "", "what to make it `from`: reality (if nothing is said), BOX@SNAPSHOT, oci:LAYOUT, tar:FILE, dir:DIR or empty")
	flags.StringVar(&f.template, "template", "", "make it from this `template`")
	flags.StringArrayVar(&f.hidden, "allow-secrets", nil, "do not hide this `path or variable` of this machine, although it looks like a credential (repeatable)")
	f.net.add(a, cmd, "if nothing is said: policy")
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("from", a.completeOrigins)
	cmd.RegisterFlagCompletionFunc("template", a.completeTemplates(0))
	f.limits.addWait(cmd)
}

// request is the box to make. A fork of reality is one as the caller sees it:
// here, with this environment. Everything else brings its own.
func (f *boxFlags) request(ctx context.Context, a *app, c *client.Client) (client.CreateRequest, error) {
	req := client.CreateRequest{Name: f.name, Template: f.template, AllowSecrets: f.allowed()}
	from, err := f.checkOrigin()
	if err == nil {
		req.Wish, err = withProject(f.limits.wish())
	}
	if err == nil {
		req.Net, req.NetWish, err = f.net.request(f.inherits(), true)
	}
	switch {
	case err != nil || f.template != "":
		return req, err
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
func (f *boxFlags) standing() (string, error) {
	dir, err := os.Getwd()
	switch {
	case err == nil:
		return asText(dir)
	case f.instead != "":
		return f.instead, nil
	}
	return "", forkbox.Errorf(forkbox.Invalid, "find the current directory", "it does not exist any more").
		Hint("go to one that does: cd DIR")
}

// inherits says whether the box will be made of another, and have its network.
func (f *boxFlags) inherits() bool {
	return f.template != "" || strings.Contains(f.from, "@")
}

// ownPlace says whether the box will have a directory and an environment of its
// own.
func (f *boxFlags) ownPlace() bool {
	return f.template != "" || f.from != "" && f.from != forkbox.Reality
}

// allowed makes paths absolute; the daemon does not know where they were said.
// What has no slash and no dot in front is the name of a variable.
func (f *boxFlags) allowed() []string {
	list := make([]string, len(f.hidden))
	for i, secret := range f.hidden {
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

// asText is a directory, as long as it can go through the API.
func asText(dir string) (string, error) {
	if !utf8.ValidString(dir) {
		return "", forkbox.Errorf(forkbox.Unsupported, "run a command in "+printable(dir), "the directory's name is not UTF-8").
			Hint("choose another with -w DIR, and go there in the command: sh -c 'cd …'")
	}
	return dir, nil
}
