// Package network has the verbs for what a box reaches, and is reached by.
package network

import (
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

func NetVerb(a *app.App) *cobra.Command {
	return app.WithSubverbs(&cobra.Command{
		Use:   "net show|log|explain|allow|deny|rm",
		Short: "What a box may reach, and what it tried to",
		Long: `A box has a network of its own: its ports are nobody else's, and what leaves it goes
through a gate that knows every connection by name. Rules say what may be reached.
The first that matches decides, and what none matches is refused; the program sees
a refused connection at once.

A rule reads
  [METHOD,…] [tcp:|udp:|any:]TARGET[:PORTS][/PATH] [private]
TARGET is the name of a host, '*.example.org' for all names below one, '*' for every
name, an address or a range of addresses. Without PORTS it is any port. A METHOD or
a PATH is about single requests: the gate then looks into the TLS of that host. With
private the name may lead to a private address.`,
		Example: `  forkbox net show try
  forkbox net log -f try
  forkbox net explain try https://git.example.com/team/project
  forkbox net allow try git.example.com:443
  forkbox net deny try '*.example.org'
  forkbox net rm try git.example.com:443`,
	}, netShowVerb(a), netLogVerb(a), netExplainVerb(a), netAllowVerb(a), netDenyVerb(a), netRemoveVerb(a))
}
