package providertest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

var exitChecks = []check{
	{"Codes", exitCodes},
	{"CannotStart", cannotStart},
	{"NotStartedLeavesTheBoxUsable", notStarted},
	{"DeliveredOnce", deliveredOnce},
	{"Timeout", timeout},
}

func exitCodes(t *testing.T, r *Running) {
	for _, c := range []struct {
		script string
		want   forkbox.Exit
	}{
		{"exit 0", forkbox.Exit{Code: 0, Cause: forkbox.CauseExited}},
		{"exit 3", forkbox.Exit{Code: 3, Cause: forkbox.CauseExited}},
		{"exit 255", forkbox.Exit{Code: 255, Cause: forkbox.CauseExited}},
		{"kill -TERM $$", forkbox.Exit{Code: 143, Signal: "SIGTERM", Cause: forkbox.CauseSignalled}},
		{"kill -KILL $$", forkbox.Exit{Code: 137, Signal: "SIGKILL", Cause: forkbox.CauseSignalled}},
		{"kill -SEGV $$", forkbox.Exit{Code: 139, Signal: "SIGSEGV", Cause: forkbox.CauseSignalled}},
	} {
		t.Run(c.script, func(t *testing.T) {
			if res := r.with(t).Run(Shell(c.script), nil); res.Exit != c.want {
				t.Errorf("got %+v, want %+v", res.Exit, c.want)
			}
		})
	}
}

func cannotStart(t *testing.T, r *Running) {
	dir := Tree(t, map[string]string{"plain": "#!/bin/sh\n", "nointerpreter": "#!/no/such\n"})
	if err := os.Chmod(dir+"/nointerpreter", 0o755); err != nil {
		t.Fatal(err)
	}
	path := func(p string) []string { return []string{"PATH=" + p} }
	for _, c := range []struct {
		name string
		spec forkbox.ExecSpec
		want forkbox.Code
	}{
		{"no such name", forkbox.ExecSpec{Argv: []string{"no-such-command"}}, forkbox.CommandNotFound},
		{"no such path", forkbox.ExecSpec{Argv: []string{"/no/such/command"}}, forkbox.CommandNotFound},
		{"no interpreter", forkbox.ExecSpec{Argv: []string{dir + "/nointerpreter"}}, forkbox.CommandNotFound},
		{"empty name", forkbox.ExecSpec{Argv: []string{""}}, forkbox.CommandNotFound},
		{"empty PATH", forkbox.ExecSpec{Argv: []string{"true"}, Env: path("")}, forkbox.CommandNotFound},
		{"not executable", forkbox.ExecSpec{Argv: []string{dir + "/plain"}}, forkbox.NotExecutable},
		{"not executable, by name", forkbox.ExecSpec{Argv: []string{"plain"}, Env: path(dir)}, forkbox.NotExecutable},
		{"a directory", forkbox.ExecSpec{Argv: []string{dir}}, forkbox.NotExecutable},
		{"too many arguments", forkbox.ExecSpec{Argv: []string{"true", strings.Repeat("x", 4<<20)}}, forkbox.NotExecutable},
		{"no such directory", forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/no/such/dir"}, forkbox.Invalid},
		{"the directory is a file", forkbox.ExecSpec{Argv: []string{"true"}, Dir: "/etc/passwd"}, forkbox.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.with(t).Try(c.spec, nil)
			if err == nil || forkbox.CodeOf(err) != c.want {
				t.Errorf("got %v (%v), want %v", err, forkbox.CodeOf(err), c.want)
			}
		})
	}
}

// notStarted: the files of an exec that did not start are closed, in the box
// too, or its caller would wait for ever.
func notStarted(t *testing.T, r *Running) {
	theirs, ours := r.lab.Pipes()
	defer ours.Close()
	if err := r.Exec(r.ID(), forkbox.ExecSpec{Argv: []string{"no-such-command"}}, theirs, logCap); err == nil {
		t.Fatal("it started")
	}
	for _, f := range []*os.File{ours.Out, ours.Err} {
		_ = f.SetReadDeadline(time.Now().Add(patience))
		if n, err := f.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
			t.Errorf("read %d, %v; want end of file", n, err)
		}
	}
	r.Sh("true")
}

func deliveredOnce(t *testing.T, r *Running) {
	id := r.Run(Shell("true"), nil).ID
	r.Sh("sleep 0.1")
	if n := r.Deliveries(id); n != 1 {
		t.Errorf("its exit was delivered %d times", n)
	}
}

func timeout(t *testing.T, r *Running) {
	id := r.ID()
	spec := Shell("setsid sleep 1000 & (sleep 1000 &); sleep 1000")
	spec.Timeout = 300 * time.Millisecond
	if err := r.Exec(id, spec, forkbox.Stdio{}, logCap); err != nil {
		t.Fatal(err)
	}
	if end := r.Wait(id); end.Exit.Code != 124 || end.Exit.Cause != forkbox.CauseTimeout {
		t.Errorf("ended with %+v", end.Exit)
	}
	Eventually(t, "all that it started is gone", func() bool { return Marked(r.Box, id) == 0 })
}
