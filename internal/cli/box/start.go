package box

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/cli/app"
)

func StartVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "start BOX…",
		Short: "Keep a box running",
		Long: `Wake a box and keep it running until it is stopped. There is seldom a need to:
exec and shell wake a box by themselves, and it goes to rest when nothing runs
in it.`,
		Example:           "  forkbox start try",
		Args:              app.Needs(1, "a box: forkbox start BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			return eachBox(a, args, "starting", func(ref string) (forkbox.Box, error) { return c.Start(cmd.Context(), ref) })
		},
	}
}

func StopVerb(a *app.App) *cobra.Command {
	var grace graceTime
	cmd := &cobra.Command{
		Use:   "stop [-t D] BOX…",
		Short: "End everything that runs in a box",
		Long: `End every process in a box: TERM, a grace, KILL. The box is then at rest: it keeps
its changes and costs nothing else.`,
		Example:           "  forkbox stop try\n  forkbox stop -t 5 try other",
		Args:              app.Needs(1, "a box: forkbox stop BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wait *time.Duration
			if grace.set {
				wait = &grace.span
			}
			c := a.Client()
			return eachBox(a, args, "stopping", func(ref string) (forkbox.Box, error) { return c.Stop(cmd.Context(), ref, wait) })
		},
	}
	cmd.Flags().VarP(&grace, "time", "t", "grace between TERM and KILL (default: the daemon's)")
	return cmd
}

// eachBox does something to several boxes and shows what became of them.
func eachBox(a *app.App, refs []string, doing string, do func(ref string) (forkbox.Box, error)) error {
	boxes := []forkbox.Box{}
	failed := a.Each(refs, func(ref string) error {
		defer a.Progress(doing + " " + ref)()
		box, err := do(ref)
		if err == nil {
			boxes = append(boxes, box)
		}
		return err
	})
	if a.JSON {
		if err := a.PrintJSON(api.BoxList{Boxes: boxes}); err != nil {
			return err
		}
	}
	return failed
}

func PauseVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pause BOX…",
		Short: "Have everything in a box stand still",
		Long: `Have all processes of a box stand still, until forkbox resume. They keep their
memory, and get no processor. Nothing can be run in it meanwhile; its time goes on.`,
		Example:           "  forkbox pause try\n  forkbox pause try other",
		Args:              app.Needs(1, "a box: forkbox pause BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "pausing", func(ref string) (forkbox.Box, error) { return c.Pause(cmd.Context(), ref) })
		},
	}
}

func ResumeVerb(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "resume BOX…",
		Short: "Have a paused box go on",
		Long: `Have a box go on that was paused, by forkbox pause or because it met its limit of
disk. In that case give it more first, or it is paused again.`,
		Example:           "  forkbox resume try\n  forkbox set try --disk 10g && forkbox resume try",
		Args:              app.Needs(1, "a box: forkbox resume BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "resuming", func(ref string) (forkbox.Box, error) { return c.Resume(cmd.Context(), ref) })
		},
	}
}

func KeepVerb(a *app.App) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "keep [--off] BOX…",
		Short: "Have gc leave a box alone",
		Long: `Keep a box for good: neither forkbox gc nor the daemon clears it away, however old
it is. forkbox rm still removes it. With --off it is a box like the others again.`,
		Example:           "  forkbox keep try\n  forkbox keep --off try",
		Args:              app.Needs(1, "a box: forkbox keep BOX…"),
		ValidArgsFunction: a.CompleteBoxes(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Client()
			defer c.Close()
			return eachBox(a, args, "keeping", func(ref string) (forkbox.Box, error) { return c.Keep(cmd.Context(), ref, !off) })
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "gc may clear it away again")
	return cmd
}
