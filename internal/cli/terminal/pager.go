package terminal

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/forkbox/forkbox"
)

// errSeenEnough is returned by writes once the reader has left the pager. It is
// no failure.
var errSeenEnough = errors.New("the reader has seen enough")

// paged is stdout through the caller's pager. The pager starts with the first
// byte, so what fails or is empty never opens one.
type paged struct {
	*Terminal
	command string // empty: straight to stdout
	Begin   func() // called before the first byte

	pipe   io.WriteCloser
	cmd    *exec.Cmd
	caught chan os.Signal
	begun  bool
}

// Page decides whether there is a pager: only for a terminal.
func (t *Terminal) Page(off bool) *paged {
	p := &paged{Terminal: t, Begin: func() {}}
	if !off && IsTerminal(t.Stdout) {
		p.command = pagerCommand(os.LookupEnv)
	}
	return p
}

// pagerCommand chooses as git does; empty is none.
func pagerCommand(lookup func(string) (string, bool)) string {
	for _, name := range []string{"FORKBOX_PAGER", "GIT_PAGER", "PAGER"} {
		if value, set := lookup(name); set {
			if value = strings.TrimSpace(value); value == "cat" {
				return ""
			}
			return value
		}
	}
	if term, _ := lookup("TERM"); term == "dumb" {
		return ""
	}
	return "less"
}

func (p *paged) Write(text []byte) (int, error) {
	if !p.begun {
		p.begun = true
		p.Begin()
		p.start()
	}
	if p.pipe == nil {
		return p.Stdout.Write(text)
	}
	n, err := p.pipe.Write(text)
	if err != nil { // a broken pipe: not stdout itself, so it does not kill us
		return n, errSeenEnough
	}
	return n, nil
}

// start goes without where the pager cannot be had: the text matters more.
func (p *paged) start() {
	if p.command == "" {
		return
	}
	cmd, err := pagerProcess(p.command)
	if err == nil {
		cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
		p.pipe, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.pipe = nil
		if p.command != "less" {
			p.Say("warning: cannot start the pager: %v", err)
		}
		return
	}
	p.cmd, p.caught = cmd, make(chan os.Signal, 1)
	// Ctrl-C is the pager's. Caught, not ignored: it would inherit that.
	signal.Notify(p.caught, os.Interrupt)
}

// pagerProcess hands anything but one word to a shell, as git does.
func pagerProcess(command string) (*exec.Cmd, error) {
	words := strings.Fields(command)
	plain := !strings.ContainsAny(command, "|&;<>()$`\\\"'*?[#~=%")
	if plain {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("sh", "-c", command)
	if plain && len(words) == 1 {
		cmd = exec.Command(words[0])
	}
	cmd.Env = os.Environ()
	for _, setting := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(setting, "=")
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	return cmd, nil
}

// Close waits until the reader leaves the pager. How that exits is no concern
// of ours.
func (p *paged) Close() {
	if p.cmd == nil {
		return
	}
	p.pipe.Close()
	p.cmd.Wait()
	signal.Stop(p.caught)
}

// UnlessSeen turns the reader's leaving into success.
func UnlessSeen(err error) error {
	if errors.Is(err, errSeenEnough) {
		return nil
	}
	return forkbox.Wrap("print", err)
}
