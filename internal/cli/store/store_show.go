package store

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

func showStore(a *app.App, s client.Store) error {
	if a.JSON {
		return a.PrintJSON(s)
	}
	return a.Table("", func(w io.Writer) {
		for _, row := range storeRows(s) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
}

func storeRows(s client.Store) [][2]string {
	rows := [][2]string{
		{"kept in", terminal.Printable(s.Dir)}, {"layers", s.Driver}, {"pool", poolText(s.Pool)},
		{"limits of disk", holdingText(s.Disk)}, {"limits of inodes", holdingText(s.Inodes)},
	}
	if s.HostFree > 0 {
		rows = append(rows, [2]string{"free on the host", terminal.RoundBytes(s.HostFree)})
	}
	return rows
}

func poolText(p *client.Pool) string {
	if p == nil {
		return "none; make one: forkbox store init --size 50g"
	}
	text := fmt.Sprintf("%s, %s used, %s free; the file takes %s", terminal.RoundBytes(p.Size), terminal.RoundBytes(p.Used), terminal.RoundBytes(p.Free), terminal.RoundBytes(p.Allocated))
	return strings.TrimSpace(terminal.Printable(p.File) + " " + text)
}

func holdingText(h forkbox.Holding) string {
	if h.How == "" {
		return ""
	}
	return string(h.How) + terminal.Because(terminal.Printable(h.Why))
}
