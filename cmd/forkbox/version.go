package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

// release is set by the build: -ldflags "-X main.release=v1.2.3".
var release string

func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of this program. It does not ask the daemon.",
		Example: "  forkbox version\n  forkbox version --json",
		Args:    alone(""),
		RunE: func(*cobra.Command, []string) error {
			v := client.Version{Version: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.stdout, "forkbox %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
}
