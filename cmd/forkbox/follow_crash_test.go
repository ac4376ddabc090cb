//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestFollowedLogOutlivesTheDaemon kills the daemon under `logs -f` in the
// middle of what a command writes. Each line is shown once.
func TestFollowedLogOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	w := worldWith(t, "talks")
	id := w.must("exec", "-d", "talks", "--", "sh", "-c", `for part in 1 2 3; do
	until [ -e /tmp/go$part ]; do sleep 0.01; done
	for n in $(seq 300); do echo part $part line $n; done
	echo part $part >&2
done`)
	f := follow(w, "logs", "-f", "talks", id)
	var want, complained strings.Builder
	for part := 1; part <= 3; part++ {
		w.must("exec", "talks", "--", "touch", fmt.Sprintf("/tmp/go%d", part))
		f.seesLine(t)
		w.kill()
		for n := 1; n <= 300; n++ {
			fmt.Fprintf(&want, "part %d line %d\n", part, n)
		}
		fmt.Fprintf(&complained, "part %d\n", part)
		for f.lines < part*300 {
			f.seesLine(t)
		}
	}
	f.ends(t)
	if f.seen.String() != want.String() || f.stderr.String() != complained.String() {
		t.Errorf("it showed %q\nand on stderr %q", f.seen.String(), f.stderr.String())
	}
}

// TestFollowedEventsOutliveTheDaemon kills the daemon under `events -f`: it goes
// on with what came after the last that it told.
func TestFollowedEventsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	w := worldWith(t, "lasts", "--ttl", "1h")
	f := follow(w, "events", "-f", "--kind", "box.extended", "lasts")
	for n := range 3 {
		w.must("extend", "lasts", fmt.Sprintf("%dh", n+1))
		if line := f.seesLine(t); !strings.Contains(line, fmt.Sprintf("extended  by %dh", n+1)) {
			t.Fatalf("event %d is %q", n, line)
		}
		w.kill()
	}
}

// TestFollowedConnectionsOutliveTheDaemon kills the daemon under `net log -f`:
// it goes on with what is tried after the last that it told.
func TestFollowedConnectionsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	w := worldWith(t, "tries", "--net", "policy", "--net-preset", "locked")
	f := follow(w, "net", "log", "-f", "tries")
	for n := range 3 {
		addr := fmt.Sprintf("192.0.2.%d", n+1)
		w.must("exec", "tries", "--", "bash", "-c", "! : 2>/dev/null >/dev/tcp/"+addr+"/80")
		if line := f.seesLine(t); !strings.Contains(line, addr+":80") || !strings.Contains(line, "refused") {
			t.Fatalf("attempt %d is %q", n, line)
		}
		w.kill()
	}
}

// worldWith has one box.
func worldWith(t *testing.T, box string, flags ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.must(append([]string{"new", "--name", box}, flags...)...)
	t.Cleanup(func() { w.must("rm", "-f", box) })
	return w
}

// follower is a command that shows what happens, as it does.
type follower struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
	seen   strings.Builder
	lines  int
}

func follow(w *world, args ...string) *follower {
	w.Helper()
	f := &follower{cmd: w.command(args...)}
	f.cmd.Stderr = &f.stderr
	out, err := f.cmd.StdoutPipe()
	w.ok(err)
	f.out = bufio.NewReader(out)
	w.ok(f.cmd.Start())
	w.Cleanup(func() { // before its home is removed: it would start the next daemon there
		f.cmd.Process.Kill()
		f.cmd.Wait()
	})
	return f
}

func (f *follower) seesLine(t *testing.T) string {
	t.Helper()
	line, err := f.out.ReadString('\n')
	if err != nil {
		t.Fatalf("after %d lines: %v: %v\n%s", f.lines, err, f.cmd.Wait(), f.stderr.String())
	}
	f.lines++
	f.seen.WriteString(line)
	return line
}

func (f *follower) ends(t *testing.T) {
	t.Helper()
	rest, err := io.ReadAll(f.out)
	if err != nil {
		t.Fatal(err)
	}
	f.seen.Write(rest)
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, f.stderr.String())
	}
}
