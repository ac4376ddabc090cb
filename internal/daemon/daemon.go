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
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/daemon/launch"
	"github.com/forkbox/forkbox/internal/metrics"
	"github.com/forkbox/forkbox/internal/server"
)

// Daemon is one run of serve.
type Daemon struct {
	Home, Socket string
	OnDemand     bool              // another that runs already is fine
	Flags        map[string]string // what flags said, by key of the configuration
	Stderr       io.Writer         // of the log
	Text         bool              // the log is for people
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
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // from now on: one that comes early must not end the daemon
	conf, err := loadConfig(config.Options{Root: os.Geteuid() == 0, Flags: d.Flags})
	if err != nil {
		return err
	}
	log := d.logger(&conf.level, conf.started.Log.Format)
	if err := d.reach(conf).check(); err != nil {
		return err
	}
	if err := launch.MakeHome(d.Home); err != nil {
		return err
	}
	if heldLock, err = d.lock(ctx); heldLock == nil || err != nil {
		return err
	}
	engine, err := newEngine(ctx, d.Home, conf.now.Settings, log)
	if err != nil {
		return err
	}
	defer engine.Close()
	conf.engine = engine
	go conf.follow(ctx, hup, hangUp(stop), log)
	return d.serve(ctx, engine, conf, log)
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

func (d *Daemon) serve(ctx context.Context, engine server.Engine, conf *configuration, log *slog.Logger) error {
	reach := d.reach(conf)
	gate, err := reach.openGate(ctx, engine, log)
	if err != nil {
		return err
	}
	defer gate.close()
	outside, err := reach.outside(log)
	if err != nil {
		return err
	}
	clients, err := reach.clients()
	if err != nil {
		return err
	}
	tracer, err := openTracer(conf.started.Traces, d.Version, log)
	if err != nil {
		return err
	}
	defer closeTracer(tracer)
	group := reach.groupID()
	l, err := d.listen(group)
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
	c := server.Config{
		Engine: engine, Vault: vaultOf(engine), Log: log, Version: d.Version, IdleAfter: d.idle(conf), Retire: unlink,
		Outside: outside, Tokens: gate.tokens, Clients: clients, Group: group, Users: gate.users, Trail: gate.trail, Keys: gate.keys, Operations: gate.operations,
		Requests: reach.requests(), Failures: reach.failures(), Upload: mostUpload,
		Tracer: tracer, Heartbeat: conf.started.Serve.Heartbeat,
		Configuration: conf.show, Checks: conf.checks,
	}
	if k, ok := engine.(observed); ok {
		k.Metrics().Version(d.Version)
		if tracer != nil {
			k.Metrics().Traces(tracer.Counts)
		}
		c.Parts, c.Metrics, c.Observe = k.Parts, k.Metrics().Answer, k.Metrics().Request
	}
	return forkbox.Wrap("serve", server.New(c).Serve(ctx, l))
}

// observed is an engine that says how it does.
type observed interface {
	Parts(context.Context) []api.Part
	Metrics() *metrics.Metrics
}

// idle is how long the daemon stays with nothing to do; zero is for ever. One that
// was started by hand ends for that only if it was told to.
func (d *Daemon) idle(conf *configuration) time.Duration {
	if _, told := d.Flags["serve.idle"]; !told && !d.OnDemand {
		return 0
	}
	return conf.started.Serve.Idle
}

// reach is what holds for as long as the daemon runs: who could be let in by a
// reload is let in by the next start.
func (d *Daemon) reach(conf *configuration) reach { return reach{conf.started.Serve, d.Home} }

// vaultOf is where the secrets of an engine's users are kept, if it has one.
func vaultOf(engine server.Engine) server.Vault {
	if keeper, ok := engine.(interface{ Vault() server.Vault }); ok {
		return keeper.Vault()
	}
	return nil
}

// listen is called with the lock held: a socket that is there is stale.
func (d *Daemon) listen(group int) (net.Listener, error) {
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
	if err := openSocket(d.Socket, group); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// openSocket lets those connect whom the daemon serves. It asks who they are in any
// case: a mode can be changed.
func openSocket(socket string, group int) error {
	switch {
	case os.Geteuid() != 0:
		return os.Chmod(socket, 0o600)
	case group < 0:
		return os.Chmod(socket, 0o666)
	}
	return errors.Join(os.Chown(socket, 0, group), os.Chmod(socket, 0o660))
}
