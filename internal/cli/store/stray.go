package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// strayChecks has doctor tell of what applies left in reality.
func strayChecks(strays []forkbox.Stray) (checks []forkbox.Check) {
	for _, s := range strays {
		c := forkbox.Check{Name: "left by an apply", Status: forkbox.Warn, Detail: strayText(s)}
		if s.Restorable {
			c.Remedy = "take that apply back: forkbox repair --stray " + terminal.ShellWord(s.Dir) + " --restore\n"
		}
		if s.Why == "" {
			c.Remedy += "delete it for good: forkbox repair --stray " + terminal.ShellWord(s.Dir) + " --delete"
		}
		checks = append(checks, c)
	}
	return checks
}

func strayText(s forkbox.Stray) string {
	if s.Why != "" {
		return s.Dir + " cannot be looked at: " + s.Why
	}
	text := fmt.Sprintf("%s: %s of user %d", s.Dir, terminal.Plural(s.Files, "file"), s.Owner)
	if s.Store == "" {
		return text + "; an older version made it: it does not say where they belong"
	}
	text += fmt.Sprintf(", of an apply whose store %s is gone", s.Store)
	switch {
	case s.Kept > 0:
		text += "; it has what was at " + pathsText(s)
	case s.Restorable:
		text += "; nothing in it was replaced in reality"
	default:
		text += "; it had not begun to land"
	}
	return text
}

// pathsText names the first of the paths that a stray has something of.
func pathsText(s forkbox.Stray) string {
	text := strings.Join(s.Paths, ", ")
	if more := s.Kept - len(s.Paths); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// strayMender is `forkbox repair --stray`.
type strayMender struct {
	*app.App
	dir             string
	restore, delete bool
}

func (m *strayMender) check() error {
	const op = "repair"
	switch {
	case m.dir == "" && (m.restore || m.delete):
		return forkbox.Errorf(forkbox.Invalid, op, "--restore and --delete are for a directory that an apply left behind").
			Hint("name it: forkbox repair --stray DIR --restore\nforkbox doctor finds them")
	case m.dir != "" && m.restore == m.delete:
		return forkbox.Errorf(forkbox.Invalid, op, "--stray needs --restore or --delete").
			Hint("forkbox doctor says what it holds")
	}
	return nil
}

func (m *strayMender) run(ctx context.Context) error {
	dir, err := realDir(m.dir)
	if err != nil {
		return forkbox.Wrap("find "+m.dir, err)
	}
	fate := forkbox.RestoreStray
	if m.delete {
		fate = forkbox.DeleteStray
		if m.CanAsk() && !m.Agree(fmt.Sprintf("delete %s with all that is in it? There is no way back.", dir)) {
			m.Say("%s stays", dir)
			return nil
		}
	}
	var done forkbox.StrayMended
	err = m.Patiently(ctx, "looking through "+dir, func(ctx context.Context) (err error) {
		done, err = m.Client().MendStray(ctx, dir, fate)
		return err
	})
	if err != nil {
		return err
	}
	if m.JSON {
		err = m.PrintJSON(done)
	} else {
		m.show(done)
	}
	if err == nil && len(done.Left) > 0 {
		err = terminal.ExitStatus(forkbox.Conflict.ExitCode())
	}
	return err
}

// realDir is a directory's path without symlinks on the way: the daemon follows
// none. The directory itself may not be one.
func realDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	return filepath.Join(parent, filepath.Base(dir)), err
}

func (m *strayMender) show(done forkbox.StrayMended) {
	if done.Fate == forkbox.DeleteStray {
		fmt.Fprintf(m.Stdout, "deleted %s with %s\n", terminal.Printable(done.Stray.Dir), terminal.Plural(done.Stray.Files, "file"))
		return
	}
	for _, c := range done.Left {
		fmt.Fprintf(m.Stdout, "left as it is: %s: %s\n", terminal.Printable(c.Path), terminal.Printable(c.Why))
	}
	if len(done.Left) == 0 {
		fmt.Fprintln(m.Stdout, "reality is what it was before that apply")
	}
	m.Say("what had landed is in %s; delete it: forkbox repair --stray %s --delete", done.Stray.Dir, terminal.ShellWord(done.Stray.Dir))
}
