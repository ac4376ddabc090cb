// Package daemon is what `forkbox serve` runs: it wires ledger, provider, engine
// and server, and serves until it is told to end or has nothing to do.
package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"github.com/forkbox/forkbox/internal/server"
)

// Daemon is one run of serve.
type Daemon struct {
	Home, Socket string
	Idle         time.Duration // zero is never
	OnDemand     bool          // another that runs already is fine
	Stderr       io.Writer     // of the log
	Text         bool          // the log is for people
	Version      string
}

// heldLock is never let go of: that is the kernel's to do when the process has
// ended. A successor that attached to boxes while this one still watched them
// would look to it like a box that broke.
var heldLock *os.File

func (d *Daemon) Run(ctx context.Context) error {
	runtime.GOMAXPROCS(runtime.NumCPU())
	tuneHeap()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log, err := d.logger()
	if err != nil {
		return err
	}
	if err := launch.MakeHome(d.Home); err != nil {
		return err
	}
	if heldLock, err = d.lock(ctx); heldLock == nil || err != nil {
		return err
	}
	engine, closer, err := newEngine(ctx, d.Home, log)
	if err != nil {
		return err
	}
	defer closer.Close()
	return d.serve(ctx, engine, log)
}

// lock makes this the one daemon of its home. It returns nothing when another
// is and that is fine.
func (d *Daemon) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(d.Home, "daemon.lock")
	c := client.New(client.DefaultSocket())
	listening := func() bool { return !d.OnDemand || c.Ping(ctx) == nil }
	f, err := launch.LockUnless(ctx, path, listening)
	switch {
	case errors.Is(err, launch.ErrLocked) && d.OnDemand:
		return nil, nil
	case errors.Is(err, launch.ErrLocked):
		return nil, forkbox.Errorf(forkbox.Busy, "serve", "a daemon runs already for %s%s", d.Home, d.runningPID())
	case err != nil:
		return nil, forkbox.Wrap("lock "+path, err)
	}
	return f, nil
}

func (d *Daemon) runningPID() string {
	text, err := os.ReadFile(d.pidFile())
	if err != nil {
		return ""
	}
	return " (pid " + string(text[:max(0, len(text)-1)]) + ")"
}

func (d *Daemon) pidFile() string { return filepath.Join(d.Home, "daemon.pid") }

func (d *Daemon) serve(ctx context.Context, engine server.Engine, log *slog.Logger) error {
	l, err := d.listen()
	if err != nil {
		return forkbox.Wrap("listen on "+d.Socket, err)
	}
	unlink := func() { os.Remove(d.Socket) }
	defer os.Remove(d.pidFile()) // after the socket: a process that waits for the end looks at this one
	defer unlink()
	if err := os.WriteFile(d.pidFile(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return forkbox.Wrap("serve", err)
	}
	log.Info("listening", "socket", d.Socket, "pid", os.Getpid(), "version", d.Version)
	s := server.New(server.Config{
		Engine: engine, Vault: vaultOf(engine), Log: log, Version: d.Version, IdleAfter: d.Idle, Retire: unlink,
	})
	return forkbox.Wrap("serve", s.Serve(ctx, l))
}

// vaultOf is where the secrets of an engine's users are kept, if it has one.
func vaultOf(engine server.Engine) server.Vault {
	if keeper, ok := engine.(interface{ Vault() server.Vault }); ok {
		return keeper.Vault()
	}
	return nil
}

// listen is called with the lock held: a socket that is there is stale.
func (d *Daemon) listen() (net.Listener, error) {
	if err := client.CheckSocketDir(filepath.Dir(d.Socket)); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(d.Socket); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, forkbox.Errorf(forkbox.Exists, "listen on "+d.Socket, "it is not a socket")
		}
		if err := os.Remove(d.Socket); err != nil {
			return nil, err
		}
	}
	short, release, err := client.ShortSocketPath(d.Socket)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then the name may not lead here any more
	mode := os.FileMode(0o600)
	if os.Geteuid() == 0 {
		mode = 0o666
	}
	if err := os.Chmod(d.Socket, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
