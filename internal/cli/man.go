package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manVerb prints the manual from the same words as the help, so that it stays
// true.
func manVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Long:    "Print the manual page, in the format that man(1) reads.",
		Example: "  forkbox man | man -l -\n  forkbox man > /usr/local/share/man/man1/forkbox.1",
		Args:    app.Alone(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var page strings.Builder
			writeManual(&page, cmd.Root(), a.Version())
			if a.JSON {
				return a.PrintJSON(map[string]string{"name": "forkbox.1", "page": page.String()})
			}
			_, err := io.WriteString(a.Stdout, page.String())
			return err
		},
	}
}

func writeManual(w io.Writer, root *cobra.Command, version string) {
	fmt.Fprintf(w, ".TH FORKBOX 1 \"\" %q\n.SH NAME\nforkbox \\- %s\n", "forkbox "+version, roff(root.Short))
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n.SH EXAMPLES\n.nf\n%s\n.fi\n.SH VERBS\n", roff(root.Long), roff(root.Example))
	writeVerbs(w, root)
	fmt.Fprintf(w, ".SH EXIT STATUS\nThat of the command that was run; 124 when its time ran out, 125 when forkbox itself failed, "+
		"126 when the command cannot be executed, 127 when it is not there, 128+n when signal n ended it.\n")
}

// writeVerbs writes those of a command, each with its own below it.
func writeVerbs(w io.Writer, above *cobra.Command) {
	for _, verb := range above.Commands() {
		if verb.IsAvailableCommand() {
			writeVerb(w, verb)
			writeVerbs(w, verb)
		}
	}
}

func writeVerb(w io.Writer, verb *cobra.Command) {
	fmt.Fprintf(w, ".SS %s\n%s\n", roff(verb.Parent().CommandPath()+" "+verb.Use), roff(verb.Long))
	verb.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name), roff(f.Usage))
	})
	fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(verb.Example))
}

// roff protects what troff would take for its own: backslashes, dashes that
// are not hyphens, and dots and quotes at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
		if line == "" {
			lines[i] = ".PP"
		}
	}
	return strings.Join(lines, "\n")
}
