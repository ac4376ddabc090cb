package main

import (
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/spf13/cobra"
)

func (a *app) psVerb() *cobra.Command {
	return &cobra.Command{
		Use:               "ps BOX",
		Short:             "List the processes in a box",
		Long:              "List the processes in a box, with the ids they have in there. A box at rest has none.",
		Example:           "  forkbox ps try",
		Args:              exactly(1, "a box: forkbox ps BOX"),
		ValidArgsFunction: a.completeBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			processes, err := a.client().Processes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(client.ProcessList{Processes: processes})
			}
			return a.table("PID\tPPID\tUID\tSTATE\tSTARTED\tCOMMAND", func(w io.Writer) { writeProcesses(w, processes) })
		},
	}
}

func writeProcesses(w io.Writer, processes []forkbox.Process) {
	for _, p := range processes {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\n", p.PID, p.PPID, p.UID, printable(p.State), ago(p.Started), commandLine(p.Command))
	}
}
