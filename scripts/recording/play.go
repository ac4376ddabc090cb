package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// shot is a step with the lines that it printed.
type shot struct {
	step
	lines []string
}

// play runs the steps, one after another, with a daemon of their own.
func play(binary string, steps []step) ([]shot, error) {
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	stage, err := newStage(binary, home)
	if err != nil {
		return nil, err
	}
	defer stage.clear()
	var shots []shot
	for _, s := range steps {
		lines, err := stage.run(s)
		if err != nil {
			return nil, err
		}
		shots = append(shots, shot{s, lines})
	}
	return shots, nil
}

// newHome makes a home directory with the scene's files. It is not below the
// directory of temporary files: what a box does there is noise.
func newHome() (string, error) {
	above, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	home, err := os.MkdirTemp(above, "fbtest-recording-")
	if err != nil {
		return "", err
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	return home, err
}

// stage is where the steps run.
type stage struct {
	home, state string
	binary      string
	env         []string
	daemon      *exec.Cmd
}

func newStage(binary, home string) (*stage, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	state, err := os.MkdirTemp("", "fbtest-")
	if err != nil {
		return nil, err
	}
	s := &stage{home: home, state: state, binary: binary}
	// The binary has its own name here, whatever file it is; and nothing waits
	// for a busy machine, which forkbox would mention.
	config := []byte("admission: {pressure: {memory: 100, io: 100}}\n")
	if err := errors.Join(os.Mkdir(state+"/bin", 0o755), os.Symlink(binary, state+"/bin/forkbox"), os.WriteFile(state+"/config.yaml", config, 0o644)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(state))
	}
	s.env = append(os.Environ(), "HOME="+home, "FORKBOX_HOME="+state+"/h", "FORKBOX_SOCKET=", "FORKBOX_CONFIG="+state+"/config.yaml", "FORKBOX_LOG=warn", "LC_ALL=C.UTF-8",
		"PATH="+state+"/bin:"+os.Getenv("PATH"))
	s.daemon = exec.Command(binary, "serve", "--idle", "1m")
	s.daemon.Env, s.daemon.Stderr = s.env, os.Stderr
	if err := s.daemon.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(state))
	}
	if err := s.await(); err != nil {
		s.clear()
		return nil, err
	}
	return s, nil
}

// await returns when the daemon listens.
func (s *stage) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(s.state + "/h/forkbox.sock"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the daemon does not listen")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// clear removes what the steps made, and ends the daemon.
func (s *stage) clear() {
	_ = s.sh(`forkbox race rm --force fruit; forkbox rm --force oops moon`).Run()
	_ = s.daemon.Process.Signal(syscall.SIGTERM)
	_ = s.daemon.Wait()
	if os.RemoveAll(s.state) != nil { // overlayfs's own directories let only root in
		_ = exec.Command("chmod", "-R", "u+rwx", s.state).Run()
		_ = os.RemoveAll(s.state)
	}
}

func (s *stage) sh(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = filepath.Join(s.home, "shop"), s.env
	return cmd
}

// run is what a step prints, as it is the same in every run.
func (s *stage) run(step step) ([]string, error) {
	out, err := s.sh(step.command).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", step.command, err, out)
	}
	text := settle(strings.ReplaceAll(string(out), s.home, "/home/you"))
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		switch {
		case step.only == nil || step.only.MatchString(line):
			lines = append(lines, line)
		case len(lines) == 0:
			lines = append(lines, "…")
		}
	}
	if last := len(lines) - 1; last < 0 || lines[last] == "…" {
		return nil, fmt.Errorf("%s shows nothing:\n%s", step.command, out)
	}
	return lines, nil
}

var receipt = regexp.MustCompile(`\b[0-9a-f]{12}\b`)

// settle gives what is made up anew each time the same word.
func settle(text string) string { return receipt.ReplaceAllString(text, "63c1f0b2a9de") }
