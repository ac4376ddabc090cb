package service

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// listContainers says more of those services that are containers.
func listContainers(a *app.App, list []forkbox.Service) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s forkbox.Service) bool { return s.Container == nil || s.Container.ID == "" })
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return a.Table("NAME\tCONTAINER\tIMAGE\tPROJECT\tMOUNTS", func(w io.Writer) {
		for _, s := range list {
			c := s.Container
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", terminal.Printable(s.Name), terminal.Printable(c.Name), terminal.Printable(c.Image),
				orDash(c.Project), mountText(s))
		}
	})
}

// mountText is what the container has mounted: volumes by name, and what is of the
// machine by its path there.
func mountText(s forkbox.Service) string {
	var all []string
	for _, m := range s.Container.Mounts {
		what := m.Name
		if m.Kind != "volume" {
			what = m.Source
		}
		text := terminal.Printable(what + ":" + m.Target)
		if i := slices.IndexFunc(s.Data, func(d forkbox.ServiceData) bool { return d.Path == m.Source }); i >= 0 {
			text += " (" + terminal.RoundBytes(s.Data[i].Bytes) + ")"
		}
		all = append(all, text)
	}
	return orDash(strings.Join(all, ", "))
}

// containerPorts are where a container is reached: the machine's port and its own,
// and its own alone where only its project reaches it.
func containerPorts(c forkbox.ServiceContainer) string {
	var all []string
	for _, p := range c.Ports {
		text := strconv.Itoa(p.Inner)
		if p.Host != 0 {
			text = strconv.Itoa(p.Host) + "->" + text
		} else {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ",")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return terminal.Printable(text)
}

func tellNotes(a *app.App, notes []string) {
	for _, note := range notes {
		a.Say("note: %s", terminal.Printable(note))
	}
}
