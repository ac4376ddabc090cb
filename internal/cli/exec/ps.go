package exec

import (
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/spf13/cobra"
)

func PsVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ps BOX",
		Short:             "List the processes in a box",
		Long:              "List the processes in a box, with the ids they have in there. A box at rest has none.",
		Example:           "  forkbox ps try",
		Args:              app.Exactly(1, "a box: forkbox ps BOX"),
		ValidArgsFunction: a.CompleteBoxes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			processes, err := a.Client().Processes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(client.ProcessList{Processes: processes})
			}
			return a.Table("PID\tPPID\tUID\tSTATE\tSTARTED\tCOMMAND", func(w io.Writer) { writeProcesses(w, processes) })
		},
	}
}

func writeProcesses(w io.Writer, processes []forkbox.Process) {
	for _, p := range processes {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\n", p.PID, p.PPID, p.UID, terminal.Printable(p.State), terminal.Ago(p.Started), terminal.CommandLine(p.Command))
	}
}
