package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
)

func versionVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of this program. It does not ask the daemon.",
		Example: "  forkbox version\n  forkbox version --json",
		Args:    app.Alone(""),
		RunE: func(*cobra.Command, []string) error {
			v := api.Version{Version: a.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if a.JSON {
				return a.PrintJSON(v)
			}
			_, err := fmt.Fprintf(a.Stdout, "forkbox %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
}
