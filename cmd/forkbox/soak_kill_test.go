//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/forkbox/forkbox/internal/storage/land"
)

// landKilled kills the daemon some milliseconds after the step began.
func (s *soak) landKilled(after string, f []string) {
	ms, err := strconv.Atoi(after)
	s.ok(err)
	s.land(f, func(cmd *exec.Cmd) error {
		if err := cmd.Start(); err != nil {
			return err
		}
		time.Sleep(time.Duration(ms) * time.Millisecond)
		kill(s.T, s.home)
		return cmd.Wait()
	}, landTry{killed: true})
}

// landDying has the daemon end before the nth change that it makes to files, or
// when all is done: the same moment each time that the history is played.
func (s *soak) landDying(nth string, f []string) {
	s.land(f, func(cmd *exec.Cmd) error { return s.runDying(nth, cmd) }, landTry{killed: true})
}

func (s *soak) runDying(nth string, cmd *exec.Cmd) error {
	last := dieAt(s.home)
	s.ok(os.WriteFile(last, []byte(nth), 0o644))
	begun := s.daemon()
	err := cmd.Run()
	s.ok(os.RemoveAll(last))
	if now := s.daemon(); now == begun && syscall.Kill(now, 0) == nil {
		kill(s.T, s.home)
	}
	return err
}

// syncDying is landDying for a sync. Nothing of it is left in the box, and the
// next one brings what it would have brought.
func (s *soak) syncDying(nth, name string) {
	before := s.real
	_ = s.runDying(nth, s.command("sync", name))
	s.same(before, "a sync that died")
	if diff := s.fb("diff", "--all", name); strings.Contains(diff, ".forkbox-") {
		s.Errorf("a sync died and left changes in %s: %s", name, diff)
	}
	s.sync(s.boxes[name], name)
}

func (s *soak) daemon() int {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, "daemon.pid"))
	s.ok(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	s.ok(err)
	return pid
}

func dieAt(home string) string { return filepath.Join(filepath.Dir(home), "die-at") }

// In a daemon, which is this binary: it dies where a history says so.
func init() {
	home := os.Getenv("FORKBOX_HOME")
	if home == "" {
		return
	}
	var mu sync.Mutex
	left, told := 0, false
	land.OnStep(func() {
		mu.Lock()
		defer mu.Unlock()
		if text, err := os.ReadFile(dieAt(home)); err == nil && os.Remove(dieAt(home)) == nil {
			left, err = strconv.Atoi(string(text))
			told = err == nil
		}
		if told && left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		left--
	})
}
