// Package launch starts a daemon where none listens. It also has what both sides
// of a start agree on: the home, and the lock that makes it one daemon.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// daemonPatience is how long a daemon gets until it must listen.
const daemonPatience = 10 * time.Second

// Start starts a daemon and waits until one listens: the one it started,
// or another that was faster. The daemon's lock sees to it that only one stays.
func Start(ctx context.Context, c *client.Client) error {
	if err := notInABox(); err != nil {
		return err
	}
	home := client.DefaultHome()
	if err := MakeHome(home); err != nil {
		return err
	}
	if err := canListen(filepath.Dir(client.DefaultSocket())); err != nil {
		return err
	}
	log, err := openDaemonLog(home)
	if err != nil {
		return forkbox.Errorf(forkbox.Unavailable, "start the daemon", "%w", err)
	}
	defer log.Close()
	from, _ := log.Seek(0, io.SeekEnd)
	child := daemonCommand(home, log)
	why := errNotTried
	if scoped := inScope(child); scoped != nil {
		why = launchDaemon(ctx, c, scoped)
	}
	if errors.Is(why, errNotTried) || errors.Is(why, errEnded) {
		why = launchDaemon(ctx, c, child)
	}
	if why != nil {
		return daemonFailure(why, log.Name(), from)
	}
	return nil
}

// canListen says at once what a daemon would take its time to find out, or one
// that listens elsewhere already would never.
func canListen(dir string) error {
	err := client.CheckSocketDir(dir)
	if err == nil {
		err = mayWrite(dir)
	}
	if err == nil || forkbox.CodeOf(err) == forkbox.Denied {
		return err
	}
	return forkbox.Errorf(forkbox.Unavailable, "start the daemon", "its socket cannot be in %s: %w", dir, err).
		Hint("choose another place: FORKBOX_SOCKET=DIR/NAME, or none for %s", filepath.Join(client.DefaultHome(), "…"))
}

var (
	errNotTried = errors.New("nothing was started")
	errEnded    = errors.New("it ended")
)

// launchDaemon starts a daemon and waits until one listens.
func launchDaemon(ctx context.Context, c *client.Client, child *exec.Cmd) error {
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	return awaitDaemon(ctx, c, ended)
}

// awaitDaemon polls: the daemon that will listen need not be the child.
func awaitDaemon(ctx context.Context, c *client.Client, ended <-chan error) error {
	late := time.After(daemonPatience)
	for pause := time.Millisecond; ; pause = min(pause*2, 20*time.Millisecond) {
		err := c.Ping(ctx)
		if err == nil || forkbox.CodeOf(err) == forkbox.Denied {
			return err
		}
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%w: %w", errEnded, err)
			}
			ended = nil // another was faster; wait for that one
		case <-late:
			return errors.New("it does not listen after " + daemonPatience.String())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func daemonFailure(why error, log string, from int64) error {
	var known *forkbox.Error
	if errors.As(why, &known) || errors.Is(why, context.Canceled) {
		return why
	}
	e := forkbox.Errorf(forkbox.Unavailable, "start the daemon", "%w", why)
	lines := tail(log, from, 6)
	for _, line := range lines {
		e.Hint("%s", line)
	}
	if len(lines) == 0 && hasNoRoom(filepath.Dir(log)) {
		return e.Hint("the disk is full, and it could not even write why: free some space on that of %s", filepath.Dir(log))
	}
	return e.Hint("the whole log: %s", log)
}

// hasNoRoom says whether nothing can be written to the disk of a directory.
func hasNoRoom(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		f.Close()
		os.Remove(f.Name())
	}
	return errors.Is(err, syscall.ENOSPC)
}

// tail is the last lines of a file's part from an offset on.
func tail(path string, from int64, lines int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-16<<10)
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, from, 16<<10))
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return all[max(0, len(all)-lines):]
}

// daemonCommand is this binary as a daemon of its own: no terminal, no working
// directory that would keep a filesystem busy, none of the caller's secrets.
func daemonCommand(home string, log *os.File) *exec.Cmd {
	self := "/proc/self/exe" // also when the file was replaced or deleted since
	if runtime.GOOS != "linux" {
		self, _ = os.Executable()
	}
	return &exec.Cmd{
		Path:        self,
		Args:        []string{"forkbox", "serve", "--on-demand"},
		Dir:         filepath.VolumeName(home) + string(filepath.Separator),
		Env:         daemonEnv(os.Environ(), home),
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: OwnSession(),
	}
}

// daemonEnv is what a daemon needs of an environment.
func daemonEnv(environ []string, home string) []string {
	var env []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case name == "FORKBOX_HOME" || name == "FORKBOX_SOCKET":
		case name == "DOCKER_HOST" || name == "CONTAINER_HOST": // where containers are asked for
			env = append(env, pair)
		case name == "PATH" || name == "HOME" || name == "USER" || name == "LOGNAME" || name == "LANG" || name == "TZ" || name == "TMPDIR",
			strings.HasPrefix(name, "FORKBOX_"), strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "GO"):
			env = append(env, pair)
		}
	}
	return append(env, "FORKBOX_HOME="+home, "FORKBOX_SOCKET="+client.DefaultSocket())
}

const daemonLogMax = 1 << 20

// openDaemonLog opens what a daemon without a terminal writes to. It starts
// over when it has grown large.
func openDaemonLog(home string) (*os.File, error) {
	path := filepath.Join(home, "daemon.log")
	if info, err := os.Stat(path); err == nil && info.Size() > daemonLogMax {
		os.Rename(path, path+".1")
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
