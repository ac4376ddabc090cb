//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// job is a command in a box that is spoken to while it runs.
type job struct {
	w    *netWorld
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
	end  func()
}

// begins runs a command in a box whose stdin and stdout are the test's.
func (w *netWorld) begins(args ...string) *job {
	w.Helper()
	cmd := w.command(args...)
	in, err := cmd.StdinPipe()
	w.ok(err)
	out, err := cmd.StdoutPipe()
	w.ok(err)
	cmd.Stderr = os.Stderr
	w.ok(cmd.Start())
	w.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return &job{w, in, bufio.NewReader(out), cmd.Wait, func() { cmd.Process.Kill() }}
}

// line waits for its next one.
func (j *job) line() string {
	j.w.Helper()
	late := time.AfterFunc(worldPatience, j.end)
	defer late.Stop()
	text, err := j.out.ReadString('\n')
	if err != nil {
		j.w.Fatalf("it ended, or said nothing for long: %q %v\n%s", text, err, j.w.log())
	}
	return strings.TrimSpace(text)
}

func (j *job) goOn() {
	j.w.Helper()
	_, err := io.WriteString(j.in, "\n")
	j.w.ok(err)
}

// holds opens connections from a box, and keeps them until goOn.
func (w *netWorld) holds(box, address string, count int) *job {
	w.Helper()
	return w.begins(append([]string{"exec", "-i", box, "--"}, w.inside("hold", address, fmt.Sprint(count))...)...)
}
