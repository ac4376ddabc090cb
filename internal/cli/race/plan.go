package race

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/race/racefile"
	"github.com/spf13/cobra"
)

// plan is the race, but for what its boxes begin as. Nothing is asked of the
// daemon: what is wrong is said before there is one.
func (f *raceFlags) plan(cmd *cobra.Command) (spec forkbox.RaceSpec, err error) {
	if f.file != "" {
		spec, err = f.planOfFile(cmd)
	} else {
		spec, err = f.planOfFlags()
	}
	if err != nil {
		return spec, err
	}
	f.override(cmd, &spec)
	return spec, spec.Check()
}

// planOfFile is what the file says, and nothing beside it.
func (f *raceFlags) planOfFile(cmd *cobra.Command) (forkbox.RaceSpec, error) {
	for _, name := range triedFlags {
		if cmd.Flags().Changed(name) {
			return forkbox.RaceSpec{}, fmt.Errorf("--%s and -f exclude each other: what is tried, and how it is judged, is in the file", name)
		}
	}
	text, err := readSome(f.file, "read the race")
	if err != nil {
		return forkbox.RaceSpec{}, err
	}
	name := f.file
	if name == "-" {
		name = "stdin"
	}
	return racefile.Parse(name, text)
}

// planOfFlags is what the command line says.
func (f *raceFlags) planOfFlags() (spec forkbox.RaceSpec, err error) {
	if spec.Approaches, err = f.approaches(); err != nil {
		return spec, err
	}
	for _, line := range f.setup {
		spec.Setup = append(spec.Setup, forkbox.Command{Run: line})
	}
	for _, line := range f.checks {
		spec.Checks = append(spec.Checks, forkbox.RaceCheck{Command: forkbox.Command{Run: line}, Must: true})
	}
	for _, line := range f.times {
		spec.Metrics = append(spec.Metrics, forkbox.Metric{Command: forkbox.Command{Run: line}, Time: true, Unit: "s"})
	}
	spec.Protect, spec.TieBreaks = f.protect, f.ties
	return spec, nil
}

func (f *raceFlags) approaches() ([]forkbox.Approach, error) {
	switch {
	case f.n < 1 || f.n > forkbox.MostApproaches:
		return nil, fmt.Errorf("--n is a number from 1 to %d", forkbox.MostApproaches)
	case f.agent == "" && len(f.prompts) > 0:
		return nil, errors.New("--prompt needs --agent, which it is for")
	case f.agent == "" && len(f.tries) == 0:
		return nil, nothingToTry()
	}
	tried, err := f.tried()
	if err != nil || f.agent == "" {
		return tried, err
	}
	asked, err := f.asked()
	return append(tried, asked...), err
}

// tried are those of --try. One without a name is called by its place.
func (f *raceFlags) tried() ([]forkbox.Approach, error) {
	var list []forkbox.Approach
	for i, arg := range f.tries {
		approach, err := racefile.Try(arg)
		if err != nil {
			return nil, err
		}
		if approach.Name == "" {
			approach.Name = fmt.Sprintf("try-%d", i+1)
		}
		list = append(list, approach)
	}
	if f.n > 1 {
		list = racefile.Samples(list, f.n)
	}
	return list, nil
}

// asked are those of --agent.
func (f *raceFlags) asked() ([]forkbox.Approach, error) {
	var prompts []string
	for _, arg := range f.prompts {
		text, err := promptText(arg)
		if err != nil {
			return nil, err
		}
		prompts = append(prompts, text)
	}
	if len(prompts) == 0 && strings.Contains(f.agent, "{prompt}") {
		return nil, errors.New("--agent has a {prompt}, and there is none: --prompt TEXT")
	}
	return racefile.Agents(f.agent, prompts, f.n)
}

// promptText is a prompt, or what is in the file that it names. The end of a
// file's last line is not part of it.
func promptText(arg string) (string, error) {
	name, isFile := strings.CutPrefix(arg, "@")
	if !isFile || strings.HasPrefix(name, "@") {
		return name, nil
	}
	text, err := readSome(name, "read the prompt")
	return strings.TrimSuffix(string(text), "\n"), err
}

// override has flags that say something about the whole race come first.
func (f *raceFlags) override(cmd *cobra.Command, spec *forkbox.RaceSpec) {
	for name, set := range map[string]func(){
		"name":     func() { spec.Name = f.box.Name },
		"stop":     func() { spec.Stop = forkbox.StopRule(f.stop) },
		"deadline": func() { spec.Deadline = f.deadline.span() },
		"timeout":  func() { spec.Timeout = f.timeout.span() },
		"parallel": func() { spec.Parallel = f.parallel },
		"retries":  func() { spec.Retries = f.retries },
		"seed":     func() { spec.Seed = f.seed },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
}

func nothingToTry() error {
	e := forkbox.Errorf(forkbox.Invalid, "race", "there is nothing to try").
		Hint("name ways to try: forkbox race --try NAME=CMD --try NAME=CMD --check CMD")
	if _, err := os.Stat("race.yaml"); err == nil {
		e.Hint("or the file that is here: forkbox race -f race.yaml")
	}
	return e
}

// mostOfFile is how much of a file is read: what is larger is none that a
// person wrote, and is refused.
const mostOfFile = 4 << 20

// readSome reads a file, or stdin.
func readSome(name, op string) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostOfFile+1))
	switch {
	case err != nil:
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	case len(text) > mostOfFile:
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%s is larger than %s", name, forkbox.FormatSize(mostOfFile))
	}
	return text, nil
}
