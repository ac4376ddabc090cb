package network

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"golang.org/x/term"
)

// secretSource is where a secret's value comes from; stdin if nothing is said.
// None of its errors has the value in it.
type secretSource struct{ variable, file string }

// longestSecret is what the daemon keeps of one.
const longestSecret = 64 << 10

func (s secretSource) read(ctx context.Context, a *app.App, name string) (string, error) {
	const op = "read the secret"
	text, err := s.text(ctx, a, name)
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case value == "":
		return "", forkbox.Errorf(forkbox.Invalid, op, "it is empty")
	case len(value) > longestSecret:
		return "", forkbox.Errorf(forkbox.Invalid, op, "it has more than %d bytes", longestSecret)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", forkbox.Errorf(forkbox.Invalid, op, "it has more than one line, or a NUL byte").Hint("it has to fit into a header")
	case !utf8.ValidString(value):
		return "", forkbox.Errorf(forkbox.Invalid, op, "it is not UTF-8").Hint("keep it in the form in which it is sent, base64 for instance")
	}
	return value, nil
}

func (s secretSource) text(ctx context.Context, a *app.App, name string) (string, error) {
	switch {
	case s.variable != "":
		value, set := os.LookupEnv(s.variable)
		if !set {
			return "", forkbox.Errorf(forkbox.NotFound, "read the secret", "there is no variable %s", s.variable)
		}
		return value, nil
	case s.file != "":
		f, err := os.Open(s.file)
		if err != nil {
			return "", forkbox.Errorf(forkbox.NotFound, "read the secret", "%w", err)
		}
		defer f.Close()
		return readSecret(f)
	case terminal.IsTerminal(os.Stdin):
		return askSecret(ctx, a, name)
	}
	return readSecret(os.Stdin)
}

// readSecret takes no more than it needs to know that it is too much.
func readSecret(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestSecret+3))
	if err != nil {
		return "", forkbox.Errorf(forkbox.Invalid, "read the secret", "%w", err)
	}
	return string(text), nil
}

// longestTyped is what a terminal hands over of one line. What is longer would be
// cut off without a word.
const longestTyped = 4000

// askSecret does not show what is typed. Whatever ends it, the terminal shows
// again what is typed next.
func askSecret(ctx context.Context, a *app.App, name string) (string, error) {
	restore := terminal.RawTerminal(os.Stdin)
	defer restore()
	var value string
	err := terminal.Heeding([]os.Signal{syscall.SIGTERM, syscall.SIGHUP}, ctx, func(ctx context.Context) error {
		select {
		case typed := <-typeSecret(a.Stderr, name):
			value = typed.text
			return typed.err
		case <-ctx.Done(): // the read goes on until the process ends
			return ctx.Err()
		}
	})
	if err == nil && len(value) > longestTyped {
		err = forkbox.Errorf(forkbox.Invalid, "read the secret", "it is too long to be typed").Hint("use --from-file FILE, or a pipe")
	}
	return value, err
}

type typedSecret struct {
	text string
	err  error
}

// typeSecret asks only when the terminal is silent already: what somebody pastes
// as soon as they are asked is not shown either.
func typeSecret(out io.Writer, name string) <-chan typedSecret {
	done := make(chan typedSecret, 1)
	keys := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, out}, "")
	go func() {
		text, err := keys.ReadPassword("value of " + name + ": ")
		switch {
		case errors.Is(err, io.EOF): // ctrl-C and ctrl-D
			io.WriteString(out, "\r\n")
			err = terminal.Interrupted
		case err != nil:
			err = forkbox.Wrap("ask for the secret", err)
		}
		done <- typedSecret{text, err}
	}()
	return done
}
