//go:build linux

package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// outside is the process that is the outside world.
type outside struct {
	dir      string
	names    *zone
	wire     *wiretap
	ca       *authority
	mu       sync.Mutex
	requests []worldRequest
	given    int // addresses that were given to tests
	gates    map[string]chan struct{}
}

func newOutside(dir string) *outside {
	return &outside{dir: dir, names: newZone(), gates: map[string]chan struct{}{}}
}

// serve starts everything. The control socket comes last: who finds it finds
// the rest.
func (o *outside) serve() error {
	if err := o.privateRun(); err != nil {
		return err
	}
	for _, start := range []func() error{o.listenIn, o.serveDNS, o.makeCA, o.serveEcho, o.serveHTTP, o.serveGit, o.serveSSH, o.serveControl} {
		if err := start(); err != nil {
			return err
		}
	}
	return nil
}

// privateRun gives sshd the directory that it wants in /run, and the host
// nothing: the mounts here are this process's own.
func (o *outside) privateRun() error {
	return errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"),
		os.Mkdir("/run/sshd", 0o755))
}

func (o *outside) file(name string) string { return filepath.Join(o.dir, name) }

// listenIn begins to note every packet that comes from the host.
func (o *outside) listenIn() (err error) {
	o.wire, err = newWiretap("fbworld")
	return err
}

// serveControl listens on a socket that the tests' user may use.
func (o *outside) serveControl() error {
	path := o.file("control.sock")
	hidden := path + ".new"
	l, err := net.Listen("unix", hidden)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(hidden, 0o666), os.Rename(hidden, path)); err != nil {
		return err
	}
	go http.Serve(l, o.control())
	return nil
}

// eachConn serves every connection to a port, on all addresses.
func eachConn(port string, serve func(net.Conn)) error {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return nil
}
