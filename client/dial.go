package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (c *link) dial(ctx context.Context) (net.Conn, error) {
	conn, err := dialSocket(ctx, c.socket)
	if err == nil || c.Redial == nil || !notListening(err) {
		return conn, err
	}
	if err := c.Redial(ctx); err != nil {
		return nil, err
	}
	return dialSocket(ctx, c.socket)
}

// Ping connects and hangs up: nil means that a daemon listens. It never starts
// a daemon.
func (c *link) Ping(ctx context.Context) error {
	if c.remote {
		_, err := do(ctx, c, "reach the daemon", api.GetVersion, api.None{}, nil)
		return err
	}
	conn, err := dialSocket(ctx, c.socket)
	if err != nil {
		return lost(ctx, "reach the daemon", err)
	}
	return conn.Close()
}

// Reach is Ping that starts a daemon where none listens. The next call uses its
// connection.
func (c *link) Reach(ctx context.Context) error {
	if c.remote {
		return nil // the first call says
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return lost(ctx, "reach the daemon", err)
	}
	select {
	case c.reached <- conn:
		return nil
	default:
		return conn.Close()
	}
}

func (c *link) connect(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-c.reached:
		return conn, nil
	default:
		return c.dial(ctx)
	}
}

func notListening(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// dialSocket connects to a daemon that can be trusted with the caller's files
// and environment: one that runs as the caller or as root.
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	if err := CheckSocketDir(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	short, release, err := ShortSocketPath(socket)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", short)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn.(*net.UnixConn)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func untrusted(format string, args ...any) error {
	return forkbox.Errorf(forkbox.Denied, "trust the daemon's socket", format, args...).
		Hint("set FORKBOX_HOME or FORKBOX_SOCKET to a directory that only you can write")
}
