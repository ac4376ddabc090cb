package main

import (
	"fmt"
	"runtime"

	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of this program. It does not ask the daemon.",
		Example: "  forkbox version\n  forkbox version --json",
		Args:    alone(""),
		RunE: func(*cobra.Command, []string) error {
			v := client.Version{Version: a.version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.stdout, "forkbox %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
}
