package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

func (a *app) showStore(s client.Store) error {
	if a.json {
		return a.printJSON(s)
	}
	return a.table("", func(w io.Writer) {
		for _, row := range storeRows(s) {
			if row[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
			}
		}
	})
}

func storeRows(s client.Store) [][2]string {
	rows := [][2]string{
		{"kept in", printable(s.Dir)}, {"layers", s.Driver}, {"pool", poolText(s.Pool)},
		{"limits of disk", holdingText(s.Disk)}, {"limits of inodes", holdingText(s.Inodes)},
	}
	if s.HostFree > 0 {
		rows = append(rows, [2]string{"free on the host", roundBytes(s.HostFree)})
	}
	return rows
}

func poolText(p *client.Pool) string {
	if p == nil {
		return "none; make one: forkbox store init --size 50g"
	}
	text := fmt.Sprintf("%s, %s used, %s free; the file takes %s", roundBytes(p.Size), roundBytes(p.Used), roundBytes(p.Free), roundBytes(p.Allocated))
	return strings.TrimSpace(printable(p.File) + " " + text)
}

func holdingText(h forkbox.Holding) string {
	if h.How == "" {
		return ""
	}
	return string(h.How) + because(printable(h.Why))
}
