// Package service has the verbs about what listens on the machine.
package service

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// ServicesVerb lists what listens.
func ServicesVerb(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "Show what listens on this machine, and where it keeps its data",
		Long: `Show the services of this machine: databases, caches and servers that wait for
connections, with their ports, their processes, and the data that they keep. As
root you see everyone's, else your own; and the containers of those engines that you
may ask.

A box has copies of those that it is made with: forkbox new --with NAME. Each copy
is up before the first command, on the same ports, with the data that the service
had at one moment; what a box does to it stays in the box.`,
		Example:           "  forkbox services\n  forkbox new --name try --with db\n  forkbox services ls try\n  forkbox services --json | jq -r '.services[] | select(.recipe==\"postgresql\").data[].path'",
		Args:              app.Alone(""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), a) },
	}
	cmd.AddCommand(lsVerb(a), refreshVerb(a), logsVerb(a),
		controlVerb(a, "start", "Start a service of a box", "starting"),
		controlVerb(a, "stop", "End a service of a box, until it is started again", "stopping"),
		controlVerb(a, "restart", "End a service of a box and start it anew", "restarting"))
	return cmd
}

func list(ctx context.Context, a *app.App) error {
	c := a.Client()
	defer c.Close()
	var found api.ServiceList
	err := a.Patiently(ctx, "looking", func(ctx context.Context) (err error) {
		found, err = c.Services(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(found)
	}
	if len(found.Services) == 0 {
		a.Say("no service listens that you may see")
		tellNotes(a, found.Notes)
		return nil
	}
	if err := a.Table("NAME\tPORTS\tUSER\tPROCESSES\tRECIPE\tDATA\tCOPY", func(w io.Writer) { writeServices(w, found.Services) }); err != nil {
		return err
	}
	if err := listContainers(a, found.Services); err != nil {
		return err
	}
	tellNotes(a, found.Notes)
	for _, s := range found.Services {
		if s.Note != "" {
			a.Say("note: %s: %s", terminal.Printable(s.Name), terminal.Printable(s.Note))
		}
	}
	return nil
}

func writeServices(w io.Writer, list []forkbox.Service) {
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Printable(s.Name), portText(s), terminal.Printable(s.User),
			processText(s), s.Recipe, dataText(s.Data), copyText(s))
	}
}

// processText is how many there are, the first of them, and the unit of systemd's
// that it is.
func processText(s forkbox.Service) string {
	if s.PID == 0 {
		return "-" // a container's, elsewhere
	}
	text := fmt.Sprintf("%d (pid %d", s.Processes, s.PID)
	if s.Unit != "" {
		text += ", " + terminal.Printable(s.Unit)
	}
	return text + ")"
}

// copyText is how a box would get the data.
func copyText(s forkbox.Service) string {
	switch {
	case s.Still != nil:
		return "taken " + terminal.Ago(*s.Still)
	case s.Way == "":
		return "-"
	case s.Pause == 0:
		return s.Way + ", no pause"
	}
	return s.Way + ", pause " + s.Pause.Round(time.Millisecond).String()
}

// portText is where a service listens: the ports, or else its first socket.
func portText(s forkbox.Service) string {
	switch {
	case s.Container != nil && len(s.Container.Ports) > 0:
		return containerPorts(*s.Container)
	case len(s.Ports) == 0 && len(s.Sockets) > 0:
		return terminal.Printable(s.Sockets[0])
	}
	return joined(s.Ports)
}

func joined(ports []int) string {
	list := make([]string, len(ports))
	for i, port := range ports {
		list[i] = strconv.Itoa(port)
	}
	return strings.Join(list, ",")
}

// dataText is the first place with data, and how much there is in all.
func dataText(data []forkbox.ServiceData) string {
	if len(data) == 0 {
		return "-"
	}
	var bytes int64
	least := ""
	for _, d := range data {
		bytes += d.Bytes
		if d.Counting {
			least = "over "
		}
	}
	text := terminal.Printable(data[0].Path)
	if more := len(data) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " (" + least + terminal.RoundBytes(bytes) + ")"
}
