package describe

import (
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

const ExecsHead = "EXEC\tSTARTED\tENDED\tCOMMAND"

// WriteExecs writes the rows below ExecsHead.
func WriteExecs(w io.Writer, execs []forkbox.Exec) {
	for _, e := range execs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.ID, terminal.Ago(e.Started), endedText(e), terminal.CommandLine(e.Argv))
	}
}

func endedText(e forkbox.Exec) string {
	text := Exit(ExecExit(e))
	if e.Detached {
		text += ", detached"
	}
	return text
}
