//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// otherUser is the unprivileged one.
const otherUser = "fbtest"

// furnish makes what the tests need that one of the two users cannot make. Both
// need the other user, that as root too.
func (s *suite) furnish(ctx context.Context) error {
	if _, err := output(ctx, "scripts/test-user", otherUser); err != nil {
		return err
	}
	for _, part := range []string{"docs", "examples", "README.md"} {
		if _, err := output(ctx, "cp", "-r", part, s.path(part)); err != nil {
			return err
		}
		if _, err := output(ctx, "chmod", "-R", "a+rX", s.path(part)); err != nil {
			return err
		}
	}
	room, err := openRoom(ctx)
	s.room = room
	return err
}

// room is the mount namespace that the other user tests in. It is made before
// any test begins: one that is made while root's tests run would hold on to what
// they have mounted, and show it.
type room struct {
	cmd   *exec.Cmd
	stdin io.Closer // it ends with that
}

// openTun gives the tests a /dev/net/tun that every user may open, as ordinary
// machines have it; here it may be root's.
const openTun = `if [ -e /dev/net/tun ]; then
  mount -t tmpfs -o mode=755 tmpfs /mnt && mknod -m 666 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun && umount -l /mnt
fi && echo open && exec cat`

func openRoom(ctx context.Context) (*room, error) {
	r := &room{cmd: exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-c", openTun)}
	r.cmd.Stderr = os.Stderr
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.stdin = stdin
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot make a mount namespace for %s: %w", otherUser, err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "open\n" {
		r.end()
		return nil, fmt.Errorf("cannot make a mount namespace for %s: it says %q: %w", otherUser, line, err)
	}
	return r, nil
}

// enter are the words that have a command run in the room.
func (r *room) enter() []string {
	return []string{"nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", r.cmd.Process.Pid)}
}

func (r *room) end() {
	r.stdin.Close()
	_ = r.cmd.Wait()
}

// asOther is the command that runs the tests of a package as the other user, who
// has no Go, no module cache and perhaps no right to read the checkout: in a
// copy of the package's testdata. done is for when it has ended.
func (s *suite) asOther(ctx context.Context, p pkg) (cmd *exec.Cmd, done func(), err error) {
	dir, err := s.dirOf(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	home, err := output(ctx, "sh", "-c", "getent passwd "+otherUser+" | cut -d: -f6")
	if err != nil {
		return nil, nil, err
	}
	line := s.room.enter()
	env := []string{
		"HOME=" + home, "USER=" + otherUser, "LOGNAME=" + otherUser, "PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8", "CI=" + os.Getenv("CI"),
	}
	done = func() {}
	if p.rel() == program {
		world, err := s.openOutside(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		done = world.end
		env = append(env, "FORKBOX_TEST_OUTSIDE="+world.dir)
		line = append(line, "--net=/proc/"+world.host+"/ns/net")
	}
	line = append(line, "--", "setpriv", "--reuid", otherUser, "--regid", otherUser, "--init-groups", "--inh-caps=-all",
		"env", "-i", "-C", dir)
	line = append(append(line, env...), p.binary)
	line = append(line, s.testFlags()...)
	if p.rel() == program && s.tests == "" && s.as == "" {
		line = append(line, "-test.skip=^("+strings.Join(indifferent, "|")+")$")
	}
	return exec.CommandContext(ctx, line[0], line[1:]...), done, nil
}

// dirOf makes the directory that the other user tests a package in: as deep
// below the suite's as the package is below the checkout's.
func (s *suite) dirOf(ctx context.Context, p pkg) (string, error) {
	dir := s.path(p.rel())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if testdata := filepath.Join(p.dir, "testdata"); isDir(testdata) {
		if _, err := output(ctx, "cp", "-r", testdata, dir); err != nil {
			return "", err
		}
	}
	_, err := output(ctx, "chown", "-R", otherUser+":", dir)
	return dir, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// outside is the world that the tests of the network reach, which only root can
// make; cmd/forkbox/net_outside_test.go says what it is. The tests run on its
// host.
type outside struct {
	dir, host string // host is a process on it
	cmd       *exec.Cmd
	stdin     io.Closer // it ends with that
}

func (s *suite) openOutside(ctx context.Context, p pkg) (*outside, error) {
	o := &outside{dir: s.path("outside")}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	line := append(s.room.enter(), "--", "unshare", "--net", "--mount", p.binary, "net-outside", o.dir)
	o.cmd = exec.CommandContext(ctx, line[0], line[1:]...)
	o.cmd.Stderr = os.Stderr
	stdin, err := o.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	o.stdin = stdin
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot make the outside world: %w", err)
	}
	for range 200 {
		pid, err := os.ReadFile(filepath.Join(o.dir, "host.pid"))
		if _, err2 := os.Stat(filepath.Join(o.dir, "control.sock")); err == nil && err2 == nil {
			o.host = strings.TrimSpace(string(pid))
			return o, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	o.end()
	return nil, errors.New("the outside world does not begin")
}

func (o *outside) end() {
	o.stdin.Close()
	o.cmd.Wait()
}
