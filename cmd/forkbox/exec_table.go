package main

import (
	"fmt"
	"io"

	"github.com/forkbox/forkbox"
)

const execsHead = "EXEC\tSTARTED\tENDED\tCOMMAND"

func writeExecs(w io.Writer, execs []forkbox.Exec) {
	for _, e := range execs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.ID, ago(e.Started), endedText(e), commandLine(e.Argv))
	}
}

func endedText(e forkbox.Exec) string {
	text := exitText(execExit(e))
	if e.Detached {
		text += ", detached"
	}
	return text
}
