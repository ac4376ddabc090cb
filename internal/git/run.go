package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/forkbox/forkbox"
)

// call is one run of git.
type call struct {
	flags []string // before the command
	args  []string
	stdin []byte
	env   []string // beyond the clean environment
	// own has git run what the repository and the user configure.
	own bool
	// keepOwners has it run filters and signers that only the user's and the
	// machine's configuration name.
	keepOwners bool
}

// refusal is git, or a hook that it ran, saying no.
type refusal struct {
	code  int
	words string
}

func (r *refusal) Error() string {
	if r.words == "" {
		return "git failed without a word"
	}
	return r.words
}

// unlessRefused drops git's refusals: what it will not tell is unknown.
func unlessRefused(err error) error {
	var no *refusal
	if errors.As(err, &no) {
		return nil
	}
	return err
}

// read runs a command that only reads. It takes no lock and writes no index.
// The two stat settings undo a configuration that has git compare less of a
// file than it could.
func (r Repo) read(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return r.run(ctx, call{
		flags: []string{"-c", "core.trustctime=true", "-c", "core.checkStat=default", "--no-replace-objects"},
		args:  args,
		stdin: stdin,
		env:   []string{"GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1"},
	})
}

// run runs git and returns what it printed. When ctx ends, git and all that it
// started is ended. Nothing else in forkbox runs git.
func (r Repo) run(ctx context.Context, c call) ([]byte, error) {
	const op = "run git"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	program, ok := find("git", r.search())
	if !ok {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "there is no git on this machine, where only you or root could have put it").Hint("install git, or do without --commit")
	}
	args, env := slices.Concat(c.flags, c.args), slices.Concat(r.environment(), c.env)
	if !c.own {
		var err error
		env = append(append(env, neutralEnv...), "PATH="+r.search())
		if args, err = r.settle(ctx, c); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = r.Root, env
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	var out bytes.Buffer
	var words tail
	cmd.Stdout, cmd.Stderr = &out, &words
	// A process that a hook left in the background may hold the pipes open.
	cmd.WaitDelay = time.Second
	if err := r.rights(cmd); err != nil {
		return nil, err
	}
	if err := supervise(ctx, cmd); err != nil {
		return out.Bytes(), r.explain(ctx, err, words.String(), out.String())
	}
	return out.Bytes(), nil
}

// explain turns a failed run into an error.
func (r Repo) explain(ctx context.Context, err error, words, out string) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		if words == "" {
			words = printable(out)
		}
		return &refusal{code: exit.ExitCode(), words: words}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		// The program was found, so this is about the directory.
		return &refusal{code: -1, words: err.Error()}
	}
	return forkbox.Errorf(forkbox.Internal, "run git", "%w", err)
}

// environment is all that git gets: nothing of the daemon's own, which may
// hold another person's GIT_ variables, credentials or configuration.
func (r Repo) environment() []string {
	env := []string{"PATH=" + daemonPath(), "LANG=C.UTF-8", "GIT_TERMINAL_PROMPT=0"}
	if r.Owner.Home != "" {
		env = append(env, "HOME="+r.Owner.Home)
	}
	if r.Owner.Name != "" {
		env = append(env, "USER="+r.Owner.Name, "LOGNAME="+r.Owner.Name)
	}
	return env
}

// tail keeps the end of what is written to it: a hook may print without end.
type tail struct{ kept []byte }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-tailSize):]...)
	if extra := len(t.kept) - tailSize; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return printable(string(t.kept)) }

// printable takes out what would command a terminal.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
	return strings.TrimSpace(s)
}
