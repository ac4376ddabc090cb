package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// line leads to an agent, or a server, that runs somewhere else.
type line struct {
	say  io.WriteCloser
	hear *bufio.Reader
	end  func()
}

// call starts this program with a command of which it is the last arguments: as
// it is, or in another network namespace. It ends when we do, since its stdin
// does.
func call(ctx context.Context, prefix []string, args ...string) (*line, int, error) {
	argv, err := insideArgv(args)
	if err != nil {
		return nil, 0, err
	}
	argv = append(prefix, argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	say, err := cmd.StdinPipe()
	if err != nil {
		return nil, 0, err
	}
	hear, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	l := &line{say: say, hear: bufio.NewReader(hear), end: func() { _ = cmd.Wait() }}
	if _, err := l.ready(); err != nil {
		l.close()
		return nil, 0, fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(said.String()))
	}
	return l, cmd.Process.Pid, nil
}

// ready waits for what everything at the end of a line says first.
func (l *line) ready() (string, error) {
	said, err := l.hear.ReadString('\n')
	if err == nil && said != "ready\n" {
		err = fmt.Errorf("it said %q", said)
	}
	return said, err
}

func (l *line) close() {
	if l.say != nil {
		_ = l.say.Close()
		l.end()
		l.say = nil
	}
}

// ask has the agent do something and tells how long each of it took.
func (l *line) ask(verb string, n int64) ([]time.Duration, error) {
	if _, err := fmt.Fprintf(l.say, "%s %d\n", verb, n); err != nil {
		return nil, err
	}
	said, err := l.hear.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: the agent is gone: %w", verb, err)
	}
	if why, failed := strings.CutPrefix(said, "error: "); failed {
		return nil, fmt.Errorf("%s: %s", verb, strings.TrimSpace(why))
	}
	var times []time.Duration
	for _, word := range strings.Fields(said) {
		if ns, err := strconv.ParseInt(word, 10, 64); err == nil {
			times = append(times, time.Duration(ns))
		}
	}
	return times, nil
}

// within is the start of a command line that is to run in the network namespace
// of a process.
func within(pid int) []string {
	return []string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net", "--"}
}

// pair makes both ends of a pipe, of which one is for another process.
func pair() (ours, theirs *os.File, err error) {
	r, w, err := os.Pipe()
	return w, r, err
}
