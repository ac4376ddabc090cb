package race

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/flags"
	"github.com/spf13/cobra"
)

// raceFlags are those of a race: what is tried, how it is judged, and what
// holds for all of its boxes.
type raceFlags struct {
	tries, checks, setup, times []string
	agent                       string
	prompts, protect            []string
	n                           int
	file                        string
	ties                        tieBreaks
	stop                        stopRule
	deadline, timeout           spanFlag
	parallel, retries           int
	seed                        int64
	box                         flags.Box // its name is the race's
}

func (f *raceFlags) add(a *app.App, cmd *cobra.Command) {
	f.addTried(cmd)
	f.addRules(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.box.Name, "name", "", "name of the race; one is made up where none is given")
	flags.StringVar(&f.box.From, "from", "", "what all begin `from`: reality (if nothing is said), BOX@SNAPSHOT, oci:LAYOUT, tar:FILE, dir:DIR or empty")
	flags.StringVar(&f.box.Template, "template", "", "what all begin from: this `template`")
	flags.StringArrayVar(&f.box.Hidden, "allow-secrets", nil, "do not hide this `path or variable` of this machine, although it looks like a credential (repeatable)")
	flags.StringSliceVar(&f.box.With, "with", nil, "have copies of these `services` up in each box, by name or port: db, web, 6379, all; none: not those of files either")
	f.box.AddPause(cmd)
	f.box.Net.Add(a, cmd, "if nothing is said: policy")
	f.box.Limits.AddForRun(cmd)
	cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("from", a.CompleteOrigins)
	cmd.RegisterFlagCompletionFunc("with", a.CompleteServices)
	cmd.RegisterFlagCompletionFunc("template", a.CompleteTemplates(0))
}

// triedFlags say what is tried and how it is judged, which is for a file or for
// flags to say, and not for both.
var triedFlags = [...]string{"try", "agent", "prompt", "n", "setup", "check", "time", "protect", "tie-break"}

func (f *raceFlags) addTried(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.tries, "try", nil, "one way to try: `NAME=CMD`, for sh (repeatable)")
	flags.StringVar(&f.agent, "agent", "", "try this `command` with each --prompt; {prompt} becomes the prompt")
	flags.StringArrayVar(&f.prompts, "prompt", nil, "ask the agent this `text`; @FILE is what a file says, @- what stdin does (repeatable)")
	flags.IntVar(&f.n, "n", 1, "try each of them so many times")
	flags.StringArrayVar(&f.setup, "setup", nil, "run this `command` once, before the fork (repeatable)")
	flags.StringArrayVar(&f.checks, "check", nil, "a `command` that has to succeed (repeatable)")
	flags.StringArrayVar(&f.times, "time", nil, "compare how long this `command` takes (repeatable)")
	flags.StringArrayVar(&f.protect, "protect", nil, "judge with this `path` as it was, whatever an approach makes of it: a pattern as in an ignore file (repeatable; tests that checks name are protected in any case; none: nothing is)")
	flags.Var(&f.ties, "tie-break", "what decides between equals: smaller-diff, fewer-files or faster (repeatable; if nothing is said: smaller-diff, then fewer-files)")
	cmd.RegisterFlagCompletionFunc("tie-break", cobra.FixedCompletions([]string{"smaller-diff", "fewer-files", "faster"}, app.NoFiles))
	for _, name := range []string{"try", "agent", "prompt", "n", "setup", "check", "time", "protect"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

func (f *raceFlags) addRules(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "read the race from this `file`; - is stdin")
	flags.Var(&f.stop, "stop", "when it ends: all (when each has ended; if nothing is said), first-pass (when one has passed) or deadline (needs --deadline)")
	flags.Var(&f.deadline, "deadline", "how long the race lasts at most: 10m")
	flags.Var(&f.timeout, "timeout", "how long the steps of one approach may take: 5m")
	flags.IntVar(&f.parallel, "parallel", 0, "how many run at a time at most; 0 is as many as there is room for")
	flags.IntVar(&f.retries, "retries", 0, "how often an approach begins anew when a step of it fails")
	flags.Int64Var(&f.seed, "seed", 0, "what decides the order that things are done in; 0 is a new one")
	cmd.RegisterFlagCompletionFunc("stop", cobra.FixedCompletions([]string{"all", "first-pass", "deadline"}, app.NoFiles))
	for _, name := range []string{"deadline", "timeout", "parallel", "retries", "seed"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// begin adds what the boxes begin as. The file's own words count where flags say
// nothing, and the project's forkbox.yaml as it does for a new box.
func (f *raceFlags) begin(ctx context.Context, a *app.App, c *client.Client, spec *forkbox.RaceSpec) error {
	f.merge(spec.Start)
	req, err := f.box.Request(ctx, a, c)
	if err != nil {
		return err
	}
	req.Wish.Ticket = "" // the race waits for its boxes, each for itself
	spec.Start = forkbox.RaceStart{
		From: req.From, Template: req.Template, Dir: req.Dir, Env: append(req.Env, spec.Start.Env...),
		AllowSecrets: req.AllowSecrets, Net: req.Net, NetWish: req.NetWish, Wish: req.Wish, With: req.With, Pause: req.Pause, Services: req.Services,
	}
	return nil
}

type stopRule string

func (s *stopRule) Set(text string) error {
	return flags.OneOf((*string)(s), text, string(forkbox.StopAll), string(forkbox.StopFirstPass), string(forkbox.StopDeadline))
}
func (s *stopRule) String() string { return string(*s) }
func (*stopRule) Type() string     { return "rule" }

// tieBreaks are in the order in which they were said.
type tieBreaks []forkbox.TieBreak

func (t *tieBreaks) Set(text string) error {
	var word string
	err := flags.OneOf(&word, text, string(forkbox.SmallerDiff), string(forkbox.FewerFiles), string(forkbox.Faster))
	if err == nil {
		*t = append(*t, forkbox.TieBreak(word))
	}
	return err
}

func (t *tieBreaks) String() string {
	var words []string
	for _, word := range *t {
		words = append(words, string(word))
	}
	return strings.Join(words, ",")
}

func (*tieBreaks) Type() string { return "rule" }

// spanFlag is a time above zero; zero is one that was not said.
type spanFlag time.Duration

func (s *spanFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("it is a time above zero, for example 30s or 10m")
	}
	*s = spanFlag(d)
	return nil
}

func (s *spanFlag) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (*spanFlag) Type() string { return "time" }

func (s spanFlag) span() time.Duration { return time.Duration(s) }
