package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
)

// connLister is `forkbox net log`.
type connLister struct {
	*app.App
	follow, refused bool
	last            int // how many; 0 is all that are kept
	conns           []forkbox.Conn
}

func netLogVerb(a *app.App) *cobra.Command {
	l := &connLister{App: a}
	cmd := &cobra.Command{
		Use:   "log [-f] [--refused] [-n N] BOX",
		Short: "List what a box connected to, and tried to",
		Long: `List every attempt of a box to reach something, oldest first: when, what became of
it, where to, which command it was, how many bytes came in and went out, and the
rule that decided. Attempts that are alike and come in quick succession are one line
with a count. What is known of a box is kept for a while after it is gone, under its
id.

With -f it goes on with what is tried from now on, also when the daemon is restarted;
a connection that was allowed comes again when it has ended.

With --json: {"conns":[…]}; with -f as well, one on each line.`,
		Example: `  forkbox net log try
  forkbox net log -f --refused try
  forkbox net log try --json | jq -r '.conns[] | select(.state == "refused").target.host'`,
		Args:              app.Exactly(1, "a box: forkbox net log BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("last") && l.last < 1 {
				return errors.New("-n is one at least")
			}
			return l.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on with what is tried from now on")
	cmd.Flags().BoolVar(&l.refused, "refused", false, "only what was refused")
	cmd.Flags().IntVarP(&l.last, "last", "n", 0, "only the last `N`")
	cmd.RegisterFlagCompletionFunc("last", cobra.NoFileCompletions)
	return cmd
}

func (l *connLister) run(ctx context.Context, ref string) error {
	c := l.Client()
	defer c.Close()
	if l.follow && !l.sifts() {
		return c.Conns(ctx, ref, client.ConnSpec{Limit: l.last, Follow: true}, l.tell)
	}
	newest, err := l.gather(ctx, c, ref)
	switch {
	case err != nil:
		return err
	case l.follow:
		return l.goOn(ctx, c, ref, newest)
	case l.JSON:
		return l.PrintJSON(map[string]any{"conns": l.conns})
	case len(l.conns) == 0:
		l.Say("%s", l.nothing())
		return nil
	}
	return l.Table(connsHead, func(w io.Writer) {
		for _, conn := range l.conns {
			fmt.Fprintln(w, connLine(conn, "\t"))
		}
	})
}

// sifts says that the last so many have to be found among others, which the
// daemon does not do.
func (l *connLister) sifts() bool { return l.refused && l.last > 0 }

// gather takes what is there. newest is the latest id of all, also of those that
// are not wanted.
func (l *connLister) gather(ctx context.Context, c *client.Client, ref string) (newest int64, err error) {
	spec := client.ConnSpec{Limit: l.last}
	if l.sifts() {
		spec.Limit = 0
	}
	l.conns = []forkbox.Conn{}
	err = c.Conns(ctx, ref, spec, func(conn forkbox.Conn) error {
		newest = max(newest, conn.ID)
		if l.wants(conn) {
			l.conns = append(l.conns, conn)
		}
		return nil
	})
	if l.last > 0 {
		l.conns = l.conns[max(0, len(l.conns)-l.last):]
	}
	return newest, err
}

func (l *connLister) goOn(ctx context.Context, c *client.Client, ref string, newest int64) error {
	for _, conn := range l.conns {
		if err := l.tell(conn); err != nil {
			return err
		}
	}
	return c.Conns(ctx, ref, client.ConnSpec{After: newest, Follow: true}, l.tell)
}

func (l *connLister) wants(conn forkbox.Conn) bool {
	return !l.refused || conn.State == forkbox.ConnRefused
}

// tell prints one as it comes.
func (l *connLister) tell(conn forkbox.Conn) error {
	if !l.wants(conn) {
		return nil
	}
	if l.JSON {
		return json.NewEncoder(l.Stdout).Encode(conn)
	}
	_, err := io.WriteString(l.Stdout, connLine(conn, "  ")+"\n")
	return err
}

func (l *connLister) nothing() string {
	if l.refused {
		return "nothing was refused"
	}
	return "it has not tried to reach anything"
}
