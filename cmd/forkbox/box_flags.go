package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

// boxFlags are those of the verbs that make a box.
type boxFlags struct {
	name    string
	from    string
	net     string
	secrets []string
}

func (f *boxFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the box; one is made up where none is given")
	flags.StringVar(&f.net, "net", string(forkbox.NetNone), "network: none (loopback only) or host")
	flags.StringArrayVar(&f.secrets, "allow-secrets", nil, "do not hide this secret `path or variable` (repeatable)")
	cmd.RegisterFlagCompletionFunc("net", cobra.FixedCompletions([]string{"none", "host"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
}

// request forks reality as the caller sees it: here, with this environment.
func (f *boxFlags) request() client.CreateRequest {
	dir, _ := os.Getwd() // a directory that is gone is no reason not to fork
	return client.CreateRequest{
		Name: f.name, From: f.from, Dir: dir, Env: os.Environ(),
		Net: forkbox.Net(f.net), AllowSecrets: f.allowed(),
	}
}

// allowed makes paths absolute; the daemon does not know where they were said.
// What has no slash and no dot in front is the name of a variable.
func (f *boxFlags) allowed() []string {
	list := make([]string, len(f.secrets))
	for i, secret := range f.secrets {
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
