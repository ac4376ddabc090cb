package access

import (
	"fmt"
	"io"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func ListenersVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "listeners",
		Short: "Say where the daemon can be reached, and the fingerprint to pin",
		Long: `Say at which addresses the daemon listens beside its socket, and the fingerprint
that clients pin: the SHA-256 of its certificate's public key, as curl's
--pinnedpubkey takes it. It stays the same when the certificate is renewed.`,
		Example: `  forkbox listeners
  forkbox listeners --json | jq -r '.listeners[0].fingerprint'
  curl --insecure --pinnedpubkey "$FINGERPRINT" -H "Authorization: Bearer $TOKEN" https://build:7171/v1/boxes`,
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			defer c.Close()
			list, err := c.Listeners(cmd.Context())
			if err != nil {
				return err
			}
			return a.List(api.ListenerList{Listeners: list}, len(list), fmt.Sprintf("only on its socket, %s; have it listen: forkbox serve --listen 127.0.0.1:7171", c.Socket()), "URL\tFINGERPRINT", func(w io.Writer) {
				for _, l := range list {
					fmt.Fprintf(w, "%s\t%s\n", l.URL, l.Fingerprint)
				}
			})
		},
	}
}
